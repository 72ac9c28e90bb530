// Pages with tables: overview, constants, lowering, times.
'use strict';

function unique(texts) {
  return [...new Set(texts)].filter((text) => text);
}

// The first elements of a list, and the number of the others.
function few(texts, most = 3) {
  return texts.length <= most ? texts.join(', ') : `${texts.slice(0, most).join(', ')} and ${texts.length - most} more`;
}

function showOverview(section, method, onChoose) {
  const delegation = method.delegation();
  const sum = (field) => delegation.reduce((all, row) => all + row[field], 0);
  const delegated = (field) => delegation.filter((row) => row.backend !== KERNELS)
      .reduce((all, row) => all + row[field], 0);
  const cards = [];
  const memory = method.memoryReport() ?? method.memory;
  cards.push(card(percent(delegated('nodes'), sum('nodes')), `of ${count(sum('nodes'))} nodes are delegated`));
  if (sum('flops') > 0) {
    cards.push(card(percent(delegated('flops'), sum('flops')), `of ${withUnit(sum('flops'), 'FLOP')} in matmuls, convolutions, attention`));
  }
  if (memory) cards.push(card(withUnit(memory.arena_bytes, 'B'), 'arena for activations'));
  if (memory?.delegate_bytes) cards.push(card(withUnit(memory.delegate_bytes, 'B'), 'working memory of delegates'));
  const constantBytes = method.constants.reduce((all, constant) => all + constant.bytes, 0);
  cards.push(card(withUnit(constantBytes, 'B'), `in ${count(method.constants.length)} constants`));
  if (REPORT) {
    cards.push(card(withUnit(REPORT.file_bytes, 'B'), 'program file'));
    cards.push(card(duration(1e3 * REPORT.phases.reduce((all, phase) => all + phase.seconds, 0)), 'to lower it'));
  }
  if (PROFILE) cards.push(card(duration(PROFILE.wall_ms.p50), `a call (p50 of ${PROFILE.runs})`));
  const bars = [];
  for (const [field, name] of [['nodes', 'nodes'], ['flops', 'operations'], ['bytes', 'constants']]) {
    if (sum(field) === 0) continue;
    bars.push(element('div', {class: 'dim'}, name), stack(delegation.map((row) => ({
      value: row[field], color: backendColor(row.backend), name: backendName(row.backend), plain: row.backend === KERNELS}))));
  }
  const nodes = [...method.nodes()].filter((node) => !node.outside);
  const left = nodes.filter((node) => node.reason !== undefined);
  // The first nodes from different source lines.
  const first = (rows) => {
    const lines = new Map();
    for (const node of rows) {
      const line = node.source || node.name;
      if (!lines.has(line)) lines.set(line, node);
    }
    const shown = [...lines].slice(0, 3).flatMap(([line, node], i) => [i > 0 ? ', ' : '', link(line, () => onChoose(node))]);
    return element('span', {}, ...shown, lines.size > 3 ? ` and ${count(lines.size - 3)} more` : '');
  };
  const refused = left.length === 0 ? [] : [
    element('h2', {}, 'Not delegated, by reason'),
    table([
      {title: 'nodes', number: true, text: ([, rows]) => count(rows.length)},
      {title: 'reason', text: ([reason]) => reason},
      {title: 'operators', text: ([, rows]) => few(unique(rows.map((node) => shortOp(node.op))))},
      {title: 'where', text: ([, rows]) => first(rows)},
    ], groupBy(left, (node) => node.reason).slice(0, 100))];
  const generic = delegation.flatMap((row) => (row.generic ?? []).map((kernel) => ({...kernel, backend: row.backend})));
  const genericTable = generic.length === 0 ? [] : [
    element('h2', {}, 'Delegated, but run by generic kernels'),
    table([
      {title: 'calls', number: true, text: (kernel) => count(kernel.calls)},
      {title: 'operator', text: (kernel) => element('code', {}, shortOp(kernel.op))},
      {title: 'read and written', number: true, text: (kernel) => withUnit(kernel.bytes, 'B')},
      {title: 'backend', text: (kernel) => backendName(kernel.backend)},
    ], generic.slice(0, 100))];
  const operators = groupBy(nodes, (node) => shortOp(node.op));
  const notes = [];
  if (REPORT) {
    for (const guard of REPORT.unchecked_guards) {
      if (guard.method === method.name) notes.push(`The program can't check this assumption of the exporter about its inputs: ${guard.guard}`);
    }
    notes.push(...REPORT.notes);
  }
  for (const line of PROFILE?.missing ?? []) notes.push(`missing: ${line}`);
  section.replaceChildren(
      element('div', {class: 'cards'}, ...cards),
      ...notes.map((note) => element('div', {class: 'note'}, note)),
      element('div', {class: 'columns'},
              element('div', {}, element('h2', {}, 'Operators by backend'), element('div', {class: 'shares'}, ...bars),
                      element('div', {class: 'legend'}, ...legend(delegation.map((row) => [
                        `${backendName(row.backend)}: ${counted(row.nodes, 'node')}${row.calls ? ` in ${counted(row.calls, 'delegate')}` : ''}`,
                        backendColor(row.backend)]))),
                      ...refused, ...genericTable),
              element('div', {}, element('h2', {}, 'Operators'), table([
                {title: 'operator', text: ([op]) => element('code', {}, op)},
                {title: 'nodes', number: true, text: ([, rows]) => count(rows.length)},
                {title: 'operations', number: true, text: ([, rows]) => {
                  const flops = rows.reduce((all, node) => all + (node.flops ?? 0), 0);
                  return flops > 0 ? withUnit(flops, 'FLOP') : '';
                }},
                {title: 'where', text: ([, rows]) => stack(groupBy(rows, (node) => node.backend).map(([backend, of]) => ({
                  value: of.length, color: backendColor(backend), name: backendName(backend), plain: backend === KERNELS})))},
              ], operators.slice(0, 60)),
              operators.length > 60 ? element('p', {class: 'dim'}, `and ${operators.length - 60} more operators`) : '')));
}

function showConstants(section, method) {
  const constants = [...method.constants].sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  if (constants.length === 0) {
    section.replaceChildren(element('p', {class: 'dim'}, 'This method has no constants.'));
    return;
  }
  const all = constants.reduce((sum, constant) => sum + constant.bytes, 0);
  const owner = (constant) => constant.delegate === undefined ? KERNELS : method.delegates[constant.delegate].backend;
  const owners = groupBy(constants, owner).map(([backend, of]) => ({
    value: of.reduce((sum, constant) => sum + constant.bytes, 0), color: backendColor(backend),
    name: backendName(backend), plain: backend === KERNELS}));
  const list = element('div', {class: 'list fill'});
  section.replaceChildren(
      element('h2', {}, `${count(constants.length)} constants, ${withUnit(all, 'B')}`), stack(owners), element('p'), list);
  const largest = constants[0].bytes;
  const widths = ['110px', '70px', '110px', '130px'];
  const cells = (texts) => texts.map((text, i) => element('span', {class: 'cell', style: {width: widths[i]}}, text));
  new VirtualList(list, 26, (constant) => element(
      'div', {class: 'row'}, ...cells([withUnit(constant.bytes, 'B'), percent(constant.bytes, all)]),
      meter(constant.bytes / Math.max(1, largest)),
      element('span', {class: 'grow', title: constant.name}, constant.name),
      element('code', {class: 'dim'}, constant.type),
      ...cells([constant.kind, constant.delegate === undefined ? 'kernels' : `${owner(constant)} #${constant.delegate}`]))).show(constants);
}

const PHASE_COLORS = ['#8ecae6', '#b7e4a0', '#ffd08a', '#d9b8f1', '#f7a8b8', '#9be0d0'];

function showLowering(section) {
  const phases = REPORT.phases;
  const whole = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const passes = REPORT.passes;
  const longest = passes.reduce((most, pass) => Math.max(most, pass.seconds), 0);
  section.replaceChildren(
      element('h2', {}, `Phases: ${duration(1e3 * whole)}`),
      stack(phases.map((phase, i) => ({value: phase.seconds, color: PHASE_COLORS[i % PHASE_COLORS.length], name: phase.name}))),
      element('p'),
      table([
        {title: 'phase', text: (phase) => phase.name},
        {title: 'time', number: true, text: (phase) => duration(1e3 * phase.seconds)},
        {title: 'share', number: true, text: (phase) => percent(phase.seconds, whole)},
        {title: 'peak memory of the process', number: true, text: (phase) => withUnit(phase.peak_rss_bytes, 'B')},
      ], phases),
      element('h2', {}, 'Passes, in order'),
      table([
        {title: 'pass', text: (pass) => pass.name},
        {title: 'time', number: true, text: (pass) => duration(1e3 * pass.seconds)},
        {title: '', text: (pass) => meter(pass.seconds / (longest || 1))},
        {title: 'nodes before', number: true, text: (pass) => count(pass.nodes_before)},
        {title: 'after', number: true, text: (pass) => count(pass.nodes_after)},
        {title: '', text: (pass) => pass.changed ? 'changed' : ''},
      ], passes));
}

function showTimes(section, onChoose) {
  const tables = [['instructions', 'instruction'], ['by_operator', 'operator'], ['by_module', 'module'],
                  ['by_source', 'source line'], ['by_backend', 'backend']];
  const list = element('div', {class: 'list fill'});
  const choice = element('select', {}, ...tables.map(([name, title]) => element('option', {value: name}, `by ${title}`)));
  const widths = ['70px', '90px', '90px', '80px', '80px'];
  const cells = (texts) => texts.map((text, i) => element('span', {class: 'cell', style: {width: widths[i]}}, text));
  const rate = (value) => value === undefined ? '' : value.toFixed(1);
  section.replaceChildren(element('p', {}, choice, ` ${duration(PROFILE.wall_ms.p50)} a call (p50), ${duration(PROFILE.wall_ms.p90)} (p90), ${PROFILE.runs} calls, ${counted(PROFILE.threads, 'thread')}`), list);
  // Reasons for reference kernels.
  const declined = (row) => row.engine === 'reference' ? (row.declined ?? []).map((kernel) => `${kernel.kernel} ${kernel.reason}`) : [];
  const view = new VirtualList(
      list, 26, (row) => element(
          'div', {class: 'row', title: [row.operands, row.source, ...declined(row)].filter((text) => text).join('\n')},
          ...cells([percent(row.share, 1), duration(row.p50_ms), duration(row.p90_ms), rate(row.gflops), rate(row.gb_per_s)]),
          meter(row.share), element('span', {class: 'grow'},
                                    link(row.name, () => onChoose(row.name)),
                                    element('span', {class: 'dim'}, [' ', row.operator, row.backend, row.kernel, row.source].filter((text) => text).join('  ')))),
      element('div', {class: 'row head', style: {position: 'sticky', height: '26px'}},
              ...cells(['share', 'p50', 'p90', 'GFLOP/s', 'GB/s']), element('span', {class: 'meter'}), element('span', {class: 'grow'}, 'of')));
  choice.addEventListener('change', () => view.show(PROFILE[choice.value]));
  view.show(PROFILE.instructions);
}
