// Views and click handlers. The address may select a view: #search=NAME, #tab=memory,
// #method=prefill, joined by &.
'use strict';

const TABS = [['overview', 'Overview'], ['graph', 'Graph'],
              ...(METHODS.some((m) => m.memory) ? [['memory', 'Memory']] : []), ['constants', 'Constants'],
              ...(REPORT ? [['lowering', 'Lowering']] : []), ...(PROFILE ? [['times', 'Times']] : [])];
const MOST_FOUND = 200;
let method = METHODS[0];

function showTab(name) {
  for (const [id] of TABS) {
    byId(id).classList.toggle('shown', id === name);
    byId(`tab-${id}`).setAttribute('aria-selected', id === name);
  }
}

// --- A node, a module ---

function nodeLinks(nodes) {
  return nodes.map((node) => element(
      'div', {class: 'line'}, link(node.name, () => choose(node.item)),
      element('span', {class: 'dim'}, `  ${shortOp(node.op)}`)));
}

function showDetails(item) {
  const lines = [];
  const part = (title, ...content) => {
    if (content.length > 0) lines.push(element('h3', {}, title), ...content);
  };
  const text = (line) => element('div', {class: 'line'}, line);
  const node = item.node;
  if (node) {
    lines.push(element('h2', {}, node.name), element('code', {}, node.op));
    if (!node.outside) {
      const tag = node.delegate === undefined ? 'kernels' : `${node.backend}, delegate ${node.delegate}`;
      lines.push(element('div', {}, node.backend === KERNELS ? element('span', {class: 'tag plain'}, tag)
          : element('span', {class: 'tag', style: {background: backendColor(node.backend)}}, tag)));
    }
    if (node.reason !== undefined) part('Why it is not delegated', element('div', {class: 'note'}, node.reason));
    part('Compiled as', ...(node.decisions ?? []).map(text));
    if (node.ms !== undefined) part('Time of a call', text(duration(node.ms)));
    if (node.flops) part('Operations', text(withUnit(node.flops, 'FLOP')));
    part('Results', ...node.results.map(([name, type]) => element('div', {class: 'line'}, element('code', {}, `${name}: ${type}`))));
    part('Operands', ...node.operands.map(([from, output, argument]) => {
      const producer = node.graph.nodes[from];
      const result = producer.results[output];
      return element('div', {class: 'line'}, `${argument}: `,
                     link(result ? result[0] : producer.name, () => choose(producer.item)),
                     element('span', {class: 'dim mono'}, result ? `  ${result[1]}` : ''));
    }));
    part('Other arguments', ...node.attributes.map(([name, value]) => element('div', {class: 'line'}, `${name}: `, element('code', {}, value))));
    part('Used by', ...nodeLinks(consumersOf(node).slice(0, 50)));
    if (node.source) part('Source', element('div', {class: 'line mono'}, node.source));
    if (node.module) part('Module', element('div', {class: 'line mono'}, node.module));
    part('Executes', ...childrenOf(item).map((body) => element(
        'div', {class: 'line'}, link(body.label, () => openItem(body)))));
    byId('details').dataset.node = node.name;
  } else {
    lines.push(element('h2', {}, item.label), element('div', {class: 'dim'}, sizeOf(item)));
    if (item.flops > 0) part('Operations', text(withUnit(item.flops, 'FLOP')));
    if (item.ms > 0) part('Time of a call', text(duration(item.ms)));
    part('Computed by', ...[...item.backends].map(([backend, nodes]) => element(
        'div', {class: 'line'}, ...legend([[`${backendName(backend)}: ${counted(nodes, 'node')} (${percent(nodes, item.count)})`, backendColor(backend)]]))));
    part('Contents', ...item.children.slice(0, 60).map((child) => element(
        'div', {class: 'line'}, link(child.label, () => child.node ? choose(child) : openItem(child)),
        element('span', {class: 'dim'}, child.node ? `  ${shortOp(child.node.op)}` : `  ${sizeOf(child)}`))));
    delete byId('details').dataset.node;
  }
  byId('details').replaceChildren(...lines);
}

// --- Navigation ---

const graphView = new GraphView((item) => choose(item), (item) => openItem(item));
const treeView = new TreeView(byId('tree'), (item) => item.node ? choose(item) : openItem(item));

function openItem(item) {
  item.open = true;
  graphView.chosen = null;
  treeView.choose(item);
  graphView.show(item);
  showDetails(item);
}

// Shows a node in its module.
function choose(item) {
  showTab('graph');
  graphView.chosen = item;
  treeView.choose(item);
  showDetails(item);
  const inSight = graphView.scope && graphView.scope.graph === item.graph && graphView.boxes.some((box) => box.item === item);
  if (inSight) {
    graphView.draw();
  } else {
    graphView.show(item.parent.children.includes(item) ? item.parent : item.graph.tree);
  }
}

// Subgraphs are children of the node that executes them.
function growTrees(from) {
  const root = treeOf(from.graphs[0]);
  const seen = new Set([0]);
  const visit = (graph) => {
    for (const node of graph.nodes) {
      for (const body of node.bodies) {
        if (seen.has(body)) continue;
        seen.add(body);
        childrenOf(node.item);
        visit(from.graphs[body]);
      }
    }
  };
  visit(from.graphs[0]);
  return root;
}

// The node of an instruction, or of a tensor that it writes; for the call of an expanded delegate,
// its last node.
function chooseNamed(name) {
  const delegate = method.delegateCalled(name);
  let last = null;
  for (const node of method.nodes()) {
    if (node.name === name || node.results.some((result) => result[0] === name)) return choose(node.item);
    if (node.delegate === delegate && !node.outside) last = node;
  }
  if (delegate !== undefined && last) choose(last.item);
}

function showMethod(name) {
  method = METHODS.find((m) => m.name === name) ?? METHODS[0];
  byId('method').value = method.name;
  const root = growTrees(method);
  showOverview(byId('overview'), method, (node) => choose(node.item));
  new MemoryView(byId('memory'), method, chooseNamed);
  showConstants(byId('constants'), method);
  treeView.show(root);
  openItem(root);
}

// --- Search ---

// Nodes of all methods, ordered by match: equal, prefix, substring.
function find(text) {
  const wanted = text.toLowerCase();
  const found = [];
  for (const m of METHODS) {
    for (const node of m.nodes()) {
      const name = node.name.toLowerCase();
      let rank = name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 4;
      if (rank === 4) {
        const texts = [node.op, node.source ?? '', node.module ?? '', ...node.results.map((result) => result[0])];
        if (texts.some((other) => other.toLowerCase().includes(wanted))) rank = 3;
      }
      if (rank < 4) found.push({node, m, rank});
    }
  }
  return found.sort((a, b) => a.rank - b.rank || (a.m === method ? 0 : 1) - (b.m === method ? 0 : 1));
}

function go({node, m}) {
  byId('found').hidden = true;
  if (m !== method) showMethod(m.name);
  choose(node.item);
}

function showFound() {
  const text = byId('search').value.trim();
  const list = byId('found');
  list.hidden = text === '';
  if (text === '') return [];
  const found = find(text);
  list.dataset.count = found.length;
  list.replaceChildren(
      element('div', {class: 'dim', style: {padding: '2px 8px'}}, found.length === 0 ? 'no node' : counted(found.length, 'node')),
      ...found.slice(0, MOST_FOUND).map((entry) => element(
          'button', {onclick: () => go(entry)}, entry.node.name,
          element('span', {class: 'dim'}, `  ${shortOp(entry.node.op)}  ${entry.node.source ?? ''}${METHODS.length > 1 ? `  (${entry.m.name})` : ''}`))));
  return found;
}

byId('search').addEventListener('input', showFound);
byId('search').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  const found = showFound();
  if (found.length > 0) go(found[0]);
});
addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement === document.body) {
    event.preventDefault();
    byId('search').focus();
  }
  if (event.key !== 'Escape') return;
  byId('found').hidden = true;
  if (document.activeElement === byId('search')) {
    byId('search').blur();
  } else if (byId('graph').classList.contains('shown') && graphView.scope.parent) {
    const around = graphView.scope.parent;
    openItem(around.node ? around.parent : around);
  }
});
addEventListener('click', (event) => {
  if (!event.target.closest('.search')) byId('found').hidden = true;
});

// --- Start ---

function followAddress() {
  const asked = new Map(location.hash.slice(1).split('&').filter((part) => part.includes('=')).map((part) => {
    const [key, ...value] = part.split('=');
    try {
      return [key, decodeURIComponent(value.join('='))];
    } catch {
      return [key, value.join('=')];
    }
  }));
  if (asked.has('method') && asked.get('method') !== method.name) showMethod(asked.get('method'));
  if (asked.has('search')) {
    byId('search').value = asked.get('search');
    const found = showFound();
    if (found.length > 0) go(found[0]);
  }
  if (TABS.some(([id]) => id === asked.get('tab'))) showTab(asked.get('tab'));
}

document.title = DATA.title;
byId('title').textContent = DATA.title;
byId('subtitle').textContent = DATA.subtitle;
byId('tabs').replaceChildren(...TABS.map(([id, name]) => element(
    'button', {id: `tab-${id}`, role: 'tab', onclick: () => showTab(id)}, name)));
byId('method').replaceChildren(...METHODS.map((m) => element('option', {value: m.name}, m.name)));
byId('method').hidden = METHODS.length < 2;
byId('method').addEventListener('change', () => showMethod(byId('method').value));
if (REPORT) showLowering(byId('lowering'));
showTab('overview');
if (METHODS.length > 0) {
  if (PROFILE) showTimes(byId('times'), chooseNamed);
  showMethod(METHODS[0].name);
  followAddress();
  addEventListener('hashchange', followAddress);
}
document.body.dataset.ready = 'yes';
