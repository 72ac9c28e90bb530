// The graph folded by module path: a tree of modules whose leaves are nodes.
'use strict';

const MOST_CHILDREN = 200;  // more are put in groups
const MOST_DEPTH = 40;      // of module paths

class Item {
  constructor(label, parent, graph, node = null) {
    this.label = label;
    this.parent = parent;
    this.graph = graph;
    this.node = node;
    this.children = [];
    this.open = false;
  }

  get first() {
    if (this.node) return this.node.index;
    return this.children.length > 0 ? this.children[0].first : 0;
  }
  // Prefixed by the names of the enclosing modules below `scope`.
  labelIn(scope) {
    const labels = [];
    for (let item = this; item && item !== scope; item = item.parent) labels.unshift(item.label);
    return labels.join('.');
  }
  contains(other) {
    for (let item = other; item; item = item.parent) {
      if (item === this) return true;
    }
    return false;
  }
}

// Counts nodes, operations, time and backends of the item and its descendants.
function addUp(item) {
  Object.assign(item, {count: 0, flops: 0, ms: 0, backends: new Map(), refused: 0});
  const node = item.node;
  if (node && !node.outside) {
    item.count = 1;
    item.flops = node.flops ?? 0;
    item.ms = node.ms ?? 0;
    item.backends.set(node.backend, 1);
  }
  for (const child of item.children) {
    addUp(child);
    item.count += child.count;
    item.flops += child.flops;
    item.ms += child.ms;
    for (const [backend, nodes] of child.backends) {
      item.backends.set(backend, (item.backends.get(backend) ?? 0) + nodes);
    }
  }
}

// Merges a module with its only child; splits long lists into groups.
function arrange(item) {
  while (item.parent && !item.node && item.children.length === 1 && !item.children[0].node) {
    const only = item.children[0];
    item.label = `${item.label}.${only.label}`;
    item.children = only.children;
    for (const child of item.children) child.parent = item;
  }
  item.children.forEach(arrange);
  while (item.children.length > MOST_CHILDREN) {
    const groups = [];
    for (let i = 0; i < item.children.length; i += MOST_CHILDREN) {
      const members = item.children.slice(i, i + MOST_CHILDREN);
      const group = new Item(`${members[0].label} … ${members[members.length - 1].label}`, item,
                             item.graph);
      group.children = members;
      for (const member of members) member.parent = group;
      groups.push(group);
    }
    item.children = groups;
  }
}

// The tree of a graph; `around` is the item of the node that executes this subgraph.
function treeOf(graph, around = null) {
  if (graph.tree) return graph.tree;
  const root = new Item(around ? graph.name : graph.method.name, around, graph);
  const constants = new Item('constants', root, graph);
  const modules = new Map([['', root]]);
  const moduleItem = (path) => {
    const known = modules.get(path);
    if (known) return known;
    const parts = path.split('.');
    if (parts.length > MOST_DEPTH) return moduleItem(parts.slice(0, MOST_DEPTH).join('.'));
    const parent = moduleItem(parts.slice(0, -1).join('.'));
    const item = new Item(parts[parts.length - 1], parent, graph);
    parent.children.push(item);
    modules.set(path, item);
    return item;
  };
  for (const node of graph.nodes) {
    const constant = node.outside && node.op !== 'input' && node.op !== 'output';
    const parent = constant ? constants : moduleItem(node.module ?? '');
    node.item = new Item(node.name, parent, graph, node);
    parent.children.push(node.item);
  }
  if (constants.children.length > 0) root.children.unshift(constants);
  arrange(root);
  addUp(root);
  root.constants = constants;
  graph.tree = root;
  return root;
}

// "9 nodes"; for constants "3 constants".
function sizeOf(item) {
  const number = item.count || item.children.length;
  const what = item.count || item !== item.graph.tree.constants ? 'node' : 'constant';
  return counted(number, what);
}

// Children of an item, or the subgraphs of a node.
function childrenOf(item) {
  if (!item.node) return item.children;
  item.bodies ??= item.node.bodies.map((body) => treeOf(item.graph.method.graphs[body], item));
  return item.bodies;
}

// The tree as a list of collapsible rows.
class TreeView {
  constructor(container, onChoose) {
    this.list = new VirtualList(container, 24, (row) => this.rowElement(row));
    this.onChoose = onChoose;
    this.chosen = null;
  }

  show(root) {
    this.root = root;
    root.open = true;
    this.refresh();
  }

  refresh() {
    const rows = [];
    const add = (item, depth) => {
      rows.push({item, depth});
      if (item.open) childrenOf(item).forEach((child) => add(child, depth + 1));
    };
    add(this.root, 0);
    this.list.show(rows);
  }

  choose(item) {
    this.chosen = item;
    for (let around = item.parent; around; around = around.parent) around.open = true;
    this.refresh();
    this.list.reveal(this.list.rows.findIndex((row) => row.item === item));
  }

  rowElement({item, depth}) {
    const folds = childrenOf(item).length > 0;
    const toggle = (event) => {
      item.open = !item.open;
      this.refresh();
      event.stopPropagation();
    };
    const mix = element('span', {class: 'mix'}, ...[...item.backends].map(
        ([backend, nodes]) => element('span', {style: {
          flex: `${nodes} 0 0`, background: backendColor(backend)}})));
    const note = item.node ? shortOp(item.node.op) : sizeOf(item);
    return element(
        'div', {class: item === this.chosen ? 'row chosen' : 'row',
                style: {paddingLeft: `${6 + 14 * depth}px`}, onclick: () => this.onChoose(item)},
        element('span', {class: 'fold', ...(folds ? {onclick: toggle} : {})},
                folds ? (item.open ? '▾' : '▸') : ''),
        element('span', {class: 'grow', title: item.label},
                item.label, element('span', {class: 'dim'}, `  ${note}`)),
        item.count > 0 ? mix : null);
  }
}
