// The page of `belay quantize --html`: losses by node, the worst first.
'use strict';

const METHODS = DATA.report.methods;
const TABS = [['weights', 'Weights'], ['activations', 'Activations'], ['modules', 'Modules'], ['results', 'Results of nodes'], ['unquantized', 'Not quantized']];
const METRICS = {snr: 'SNR in dB', cosine: 'cosine', mse: 'mean squared error'};
const MOST_ROWS = 500;

// null: without loss.
function shown(value, digits = 1) {
  if (value === null || value === undefined) return 'exact';
  return Math.abs(value) >= 0.01 || value === 0 ? value.toFixed(digits) : value.toExponential(2);
}

// Bars of the distribution before quantization, and the outline of the one after. Heights are
// logarithmic, so that outliers are visible. `low` and `high`: the represented range.
function picture(distribution, low = null, high = null) {
  if (!distribution) return element('span', {class: 'dim'}, '–');
  const {before, after} = distribution;
  const [width, height] = [256, 44];
  const step = width / before.length;
  const most = Math.log1p(Math.max(...before, ...after));
  const top = (number) => height - height * Math.log1p(number) / most;
  const parts = before.map((number, i) => svgElement(
      'rect', {class: 'before', x: i * step, y: top(number), width: step, height: height - top(number)}));
  if (after.length > 0) {
    const points = after.flatMap((number, i) => [[i * step, top(number)], [(i + 1) * step, top(number)]]);
    parts.push(svgElement('polyline', {class: 'after', points: points.map((point) => point.join(',')).join(' ')}));
  }
  const place = (x) => width * (x - distribution.low) / (distribution.high - distribution.low);
  for (const bound of [low, high]) {
    if (bound === null || !(distribution.high > distribution.low)) continue;
    parts.push(svgElement('line', {class: 'bound', x1: place(bound), x2: place(bound), y1: 0, y2: height}));
  }
  const title = `${shown(distribution.low, 3)} to ${shown(distribution.high, 3)}`;
  return svgElement('svg', {class: 'distribution', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img'},
                    svgElement('title', {}, title), ...parts);
}

function where(node) {
  return element('div', {}, node.node, element('div', {class: 'dim'}, [node.module, node.source].filter((text) => text).join(', ')));
}

// The first rows, and the number of the others.
function limited(columns, rows) {
  const shownTable = table(columns, rows.slice(0, MOST_ROWS));
  if (rows.length <= MOST_ROWS) return [shownTable];
  return [shownTable, element('p', {class: 'dim'}, `and ${count(rows.length - MOST_ROWS)} more: see --json`)];
}

function showWeights(section, method) {
  const individual = method.measured?.individual ?? {};
  const metric = method.measured?.metric;
  const infinite = (value) => value ?? Infinity;
  const cost = (node) => !(node.node in individual) ? infinite(node.snr_db)
      : metric === 'mse' ? -individual[node.node] : infinite(individual[node.node]);
  const rows = method.quantized.filter((node) => node.shares_with === '');
  rows.sort((a, b) => cost(a) - cost(b));
  const sum = (field) => rows.reduce((all, row) => all + row[field], 0);
  const cards = [
    card(count(method.quantized.length), 'operators quantized'),
    card(count(method.unquantized.length), 'selected operators in float32'),
    card(withUnit(sum('bytes_after'), 'B'), `of weights, before ${withUnit(sum('bytes_before'), 'B')}`),
  ];
  if (method.measured && method.measured.all_quantized !== undefined) {
    cards.push(card(shown(method.measured.loss, 3), `${METRICS[metric]} of the worst output over the calibration data`));
    cards.push(card(shown(method.measured.all_quantized, 3), `${METRICS[metric]} with all operators quantized`));
  }
  const columns = [
    {title: 'weight SNR', number: true, text: (node) => node.snr_db === null ? 'exact' : `${shown(node.snr_db)} dB`},
    ...(Object.keys(individual).length === 0 ? [] : [
      {title: `individual ${METRICS[metric]}`, number: true, text: (node) => shown(individual[node.node], 3)}]),
    {title: 'node', text: where},
    {title: 'weight', text: (node) => node.weight},
    {title: 'format', text: (node) => node.scheme + (node.corrects_bias ? ', bias corrected' : '')},
    {title: 'largest error', number: true, text: (node) => shown(node.max_error, 3)},
    {title: 'clamped', number: true, text: (node) => percent(node.clamped, node.elements)},
    {title: 'bytes', number: true, text: (node) => withUnit(node.bytes_after, 'B')},
    {title: 'before (bars) and after (line)', text: (node) => picture(node.distribution)},
  ];
  section.replaceChildren(element('div', {class: 'cards'}, ...cards),
                          ...method.notes.map((note) => element('div', {class: 'note'}, note)),
                          ...limited(columns, rows));
}

function showActivations(section, method) {
  const rows = [...method.activations].sort((a, b) => (a.snr_db ?? Infinity) - (b.snr_db ?? Infinity));
  const measured = (row, text) => row.elements > 0 ? text : '';
  section.replaceChildren(...limited([
    {title: 'SNR', number: true, text: (row) => measured(row, row.snr_db === null ? 'exact' : `${shown(row.snr_db)} dB`)},
    {title: 'value', text: (row) => row.value},
    {title: 'largest error', number: true, text: (row) => measured(row, shown(row.max_error, 3))},
    {title: 'clamped', number: true, text: (row) => measured(row, percent(row.clamped, row.elements))},
    {title: 'range', number: true, text: (row) => `${shown(row.low, 3)} to ${shown(row.high, 3)}`},
    {title: 'scale', number: true, text: (row) => shown(row.scale, 5)},
    {title: 'zero point', number: true, text: (row) => count(row.zero_point)},
    {title: 'calibration data, and the range', text: (row) => picture(row.distribution, row.low, row.high)},
  ], rows));
}

function showModules(section, method) {
  const times = new Map((method.times?.modules ?? []).map((row) => [row.module, row]));
  const rows = [...method.modules].sort((a, b) => (a.snr_db ?? Infinity) - (b.snr_db ?? Infinity));
  const decibels = (value) => value === null ? 'exact' : value === undefined ? '' : `${shown(value)} dB`;
  const time = (field) => (row) => times.has(row.module) ? `${shown(times.get(row.module)[field], 3)} ms` : '';
  section.replaceChildren(
      ...(method.times ? [element('div', {class: 'cards'},
                                  card(`${shown(method.times.before_ms, 2)} ms`, 'a call before'),
                                  card(`${shown(method.times.after_ms, 2)} ms`, 'a call after'))] : []),
      ...limited([
        {title: 'weight SNR', number: true, text: (row) => decibels(row.snr_db)},
        ...(method.node_losses ? [{title: 'result SNR', number: true, text: (row) => decibels(row.result_snr_db)}] : []),
        {title: 'module', text: (row) => row.module},
        {title: 'operators', number: true, text: (row) => count(row.operators)},
        {title: 'largest error', number: true, text: (row) => shown(row.max_error, 3)},
        {title: 'bytes before', number: true, text: (row) => withUnit(row.bytes_before, 'B')},
        {title: 'bytes', number: true, text: (row) => withUnit(row.bytes_after, 'B')},
        ...(method.times ? [{title: 'time before', number: true, text: time('before_ms')},
                            {title: 'time', number: true, text: time('after_ms')}] : []),
      ], rows));
}

function showResults(section, method) {
  if (!method.node_losses) {
    section.replaceChildren(element('p', {class: 'dim'}, 'Measured with --node-losses.'));
    return;
  }
  const {calls, nodes} = method.node_losses;
  const rows = [...nodes].sort((a, b) => (a.snr_db ?? Infinity) - (b.snr_db ?? Infinity));
  section.replaceChildren(
      element('p', {class: 'dim'}, `Compared with float32 over ${count(calls)} calls; includes the errors of all nodes before.`),
      ...limited([
        {title: 'SNR', number: true, text: (node) => node.snr_db === null ? 'exact' : `${shown(node.snr_db)} dB`},
        {title: 'node', text: where},
        {title: 'operator', text: (node) => node.op},
        {title: 'largest error', number: true, text: (node) => shown(node.max_error, 3)},
      ], rows));
}

function showUnquantized(section, method) {
  section.replaceChildren(...limited([
    {title: 'nodes', number: true, text: ([, rows]) => count(rows.length)},
    {title: 'reason', text: ([reason]) => reason},
    {title: 'where', text: ([, rows]) => element('div', {}, ...rows.slice(0, 3).map(where))},
  ], groupBy(method.unquantized, (node) => node.reason)));
}

function showTab(name) {
  for (const [id] of TABS) {
    byId(id).classList.toggle('shown', id === name);
    byId(`tab-${id}`).setAttribute('aria-selected', id === name);
  }
}

function showMethod(name) {
  const method = METHODS.find((m) => m.method === name) ?? METHODS[0];
  showWeights(byId('weights'), method);
  showActivations(byId('activations'), method);
  showModules(byId('modules'), method);
  showResults(byId('results'), method);
  showUnquantized(byId('unquantized'), method);
}

document.title = DATA.title;
byId('title').textContent = DATA.title;
byId('subtitle').textContent = DATA.subtitle;
byId('tabs').append(...TABS.map(([id, name]) => element('button', {id: `tab-${id}`, onclick: () => showTab(id)}, name)));
byId('method').append(...METHODS.map((m) => element('option', {value: m.method}, m.method)));
byId('method').hidden = METHODS.length < 2;
byId('method').addEventListener('change', () => showMethod(byId('method').value));
showMethod(METHODS[0].method);
showTab('weights');
