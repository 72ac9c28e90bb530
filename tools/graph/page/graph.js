// The picture of one scope (a graph, a module, a subgraph), with a selectable number of boxes; larger
// modules are expanded first.
'use strict';

const MOST_OUTER = 24;   // boxes for what is outside of the scope
const BOX_HEIGHT = 42;

function heat(share) {
  return `hsl(28 95% ${96 - 46 * Math.sqrt(Math.min(1, share))}%)`;
}

class GraphView {
  constructor(onChoose, onOpen) {
    this.svg = byId('canvas');
    this.onChoose = onChoose;
    this.onOpen = onOpen;
    this.scope = null;
    this.chosen = null;
    this.view = {x: 0, y: 0, scale: 1};
    this.measure = document.createElement('canvas').getContext('2d');
    this.measure.font = '12px system-ui, sans-serif';
    const kinds = [['backend', 'backend'], ['flops', 'operations']];
    if (PROFILE) kinds.push(['ms', 'time']);
    byId('colorby').replaceChildren(...kinds.map(
        ([value, name]) => element('option', {value}, name)));
    byId('colorby').value = PROFILE ? 'ms' : 'backend';
    byId('colorby').addEventListener('change', () => this.draw());
    byId('detail').addEventListener('input', () => this.show(this.scope));
    this.listen();
    whenResized(this.svg, () => this.fit());
  }

  // Items that together contain every node of the scope except constants.
  boxesOf(scope) {
    const budget = Number(byId('detail').value);
    const drawn = (item) => item !== scope.graph.tree.constants;
    let boxes = scope.children.filter(drawn);
    for (;;) {
      let largest = null;
      for (const item of boxes) {
        if (item.node || boxes.length - 1 + item.children.length > budget) continue;
        if (largest === null || item.count > largest.count) largest = item;
      }
      if (largest === null) break;
      boxes = boxes.flatMap((item) => item === largest ? item.children : [item]);
    }
    return boxes;
  }

  show(scope) {
    if (!scope) return;
    this.scope = scope;
    const inner = new Set(this.boxesOf(scope));
    const around = new Set();
    for (let item = scope; item; item = item.parent) around.add(item);
    const constants = scope.graph.tree.constants;
    // The box of a node; null for a constant.
    const boxes = new Map();
    const boxOf = (node) => {
      for (let item = node.item; item; item = item.parent) {
        if (item === constants) return null;
        if (inner.has(item) || boxes.has(item)) return item;
        if (item.parent === null || item.parent.graph !== scope.graph || around.has(item.parent)) return item;
      }
      return null;
    };
    const edges = new Map();
    let outer = 0;
    const known = (item) => {
      if (!boxes.has(item)) {
        const outside = !inner.has(item);
        if (outside && ++outer > MOST_OUTER) return false;
        boxes.set(item, {item, outside});
      }
      return true;
    };
    for (const item of inner) known(item);
    const add = (from, to) => {
      const a = boxOf(from), b = boxOf(to);
      if (a === null || b === null || a === b || (!inner.has(a) && !inner.has(b))) return;
      if (!known(a) || !known(b)) return;
      if (!edges.has(a)) edges.set(a, new Map());
      edges.get(a).set(b, (edges.get(a).get(b) ?? 0) + 1);
    };
    const nodes = scope.graph.nodes;
    const visit = (item) => {
      if (!item.node) return item.children.forEach(visit);
      for (const operand of item.node.operands) add(nodes[operand[0]], item.node);
      if (scope !== scope.graph.tree) {
        for (const consumer of consumersOf(item.node)) add(item.node, consumer);
      }
    };
    visit(scope);
    this.boxes = [...boxes.values()].sort((a, b) => a.item.first - b.item.first);
    this.boxes.forEach((box, i) => {
      box.index = i;
      box.title = this.cut(box.item.labelIn(box.outside ? scope.graph.tree : scope), 42);
      box.second = this.cut(this.secondLine(box.item), 52);
      const text = Math.max(this.measure.measureText(box.title).width,
                            0.9 * this.measure.measureText(box.second).width);
      box.width = Math.max(90, text + (box.item.node ? 22 : 44));
      box.height = BOX_HEIGHT;
    });
    const pairs = [];
    for (const [from, targets] of edges) {
      for (const to of targets.keys()) pairs.push([boxes.get(from).index, boxes.get(to).index]);
    }
    this.plan = layOut(this.boxes, pairs);
    this.showCrumbs();
    this.draw();
    this.fit();
  }

  cut(text, most) {
    return text.length <= most ? text : `…${text.slice(text.length - most + 1)}`;
  }

  secondLine(item) {
    if (item.node) {
      const type = item.node.results.length > 0 ? item.node.results[0][1] : '';
      return item.node.outside ? type : `${shortOp(item.node.op).replace(/^aten\./, '')}  ${type}`;
    }
    const flops = item.flops > 0 ? ` · ${withUnit(item.flops, 'FLOP')}` : '';
    const ms = item.ms > 0 ? ` · ${duration(item.ms)}` : '';
    return `${counted(item.count, 'node')}${flops}${ms}`;
  }

  showCrumbs() {
    const crumbs = [];
    for (let item = this.scope; item; item = item.parent) {
      const open = item;
      crumbs.unshift(item === this.scope ? element('b', {}, item.label)
                                         : link(item.label, () => this.onOpen(open)));
      if (item.parent) crumbs.unshift(' › ');
    }
    byId('crumbs').replaceChildren(...crumbs);
  }

  draw() {
    if (!this.plan) return;
    const by = byId('colorby').value;
    const root = this.scope.graph.tree;
    const fillOf = (item) => {
      if (by !== 'backend') return root[by] > 0 ? heat(item[by] / root[by]) : 'var(--kernel)';
      return item.backends.size === 1 ? backendColor([...item.backends.keys()][0]) : 'var(--kernel)';
    };
    const marker = svgElement('defs', {}, svgElement(
        'marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
                   orient: 'auto'}, svgElement('path', {d: 'M0 0 8 4 0 8z'})));
    const edges = this.plan.edges.map(({points, back, from, to}) => svgElement(
        'path', {d: back ? this.backPath(points) : this.curve(points), class: back ? 'back' : '',
                 'marker-end': 'url(#arrow)', 'stroke-width': 1.2},
        svgElement('title', {}, `${this.boxes[from].title} → ${this.boxes[to].title}`)));
    const boxes = this.boxes.map((box) => this.boxElement(box, fillOf(box.item), by));
    this.content = svgElement('g', {}, ...edges, ...boxes);
    this.svg.replaceChildren(marker, this.content);
    this.move();
    const backends = [...new Set([...root.backends.keys(), KERNELS])].filter((b) => root.backends.has(b));
    byId('legend').replaceChildren(...(by === 'backend'
        ? legend(backends.map((b) => [`${backendName(b)}: ${counted(root.backends.get(b), 'node')}`, backendColor(b)]))
        : legend([['little', heat(0)], ['half', heat(0.5)], [`all of ${by === 'ms' ? duration(root.ms) : withUnit(root.flops, 'FLOP')}`, heat(1)]])),
      element('span', {class: 'dim'}, 'click a module to open it · wheel zooms, dragging moves · Esc goes up'));
  }

  boxElement(box, fill, by) {
    const {item} = box;
    const left = box.x - box.width / 2;
    const plain = fill === 'var(--kernel)';
    const parts = [svgElement('rect', {class: 'body', x: left, y: box.y, width: box.width, height: box.height,
                                       rx: item.node && item.node.outside ? 20 : 7,
                                       style: box.outside ? '' : `fill: ${fill}`})];
    if (by === 'backend' && item.backends.size > 1 && !box.outside) {
      let x = left + 8;
      for (const [backend, nodes] of item.backends) {
        const width = (box.width - 16) * nodes / item.count;
        parts.push(svgElement('rect', {x, y: box.y + box.height - 8, width, height: 4,
                                       style: `fill: ${backendColor(backend)}`}));
        x += width;
      }
    }
    if (!item.node && !box.outside) {
      parts.push(svgElement('text', {x: left + box.width - 12, y: box.y + 15, class: 'second'}, '▸'));
    }
    parts.push(svgElement('text', {x: box.x, y: box.y + 16, 'text-anchor': 'middle'}, box.title),
               svgElement('text', {x: box.x, y: box.y + 29, 'text-anchor': 'middle', class: 'second'}, box.second),
               svgElement('title', {}, item.node ? `${item.node.op}\n${item.node.source ?? ''}` : item.labelIn(null)));
    const classes = ['box', plain ? 'plain' : '', box.outside ? 'outer' : '', item === this.chosen ? 'chosen' : ''];
    return svgElement('g', {class: classes.join(' '), onclick: () => {
      if (this.dragged) return;
      item.node ? this.onChoose(item) : this.onOpen(item);
    }}, ...parts);
  }

  curve(points) {
    let d = `M${points[0][0]} ${points[0][1]}`;
    for (let i = 1; i < points.length; ++i) {
      const [x0, y0] = points[i - 1], [x1, y1] = points[i];
      const middle = (y0 + y1) / 2;
      d += ` C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
    }
    return d;
  }

  backPath([[x0, y0], [x1, y1]]) {
    const out = Math.max(x0, x1) + 40;
    return `M${x0} ${y0} C${out} ${y0} ${out} ${y1} ${x1} ${y1}`;
  }

  fit() {
    const {clientWidth, clientHeight} = this.svg;
    if (!this.plan || clientWidth === 0) return;
    const {left, width, height} = this.plan;
    const whole = Math.min((clientWidth - 30) / Math.max(1, width), (clientHeight - 30) / Math.max(1, height));
    // A picture that is too large to be readable as a whole starts at its top.
    const scale = Math.min(1.15, Math.max(whole, Math.min(0.7, (clientWidth - 30) / Math.max(1, width)), 0.12));
    this.view = {scale, x: clientWidth / 2 - scale * (left + width / 2),
                 y: Math.max(15, (clientHeight - scale * height) / 2)};
    const chosen = this.boxes.find((box) => box.item === this.chosen);
    if (chosen && scale * height > clientHeight) this.view.y = clientHeight / 2 - scale * chosen.y;
    this.move();
  }

  move() {
    const {x, y, scale} = this.view;
    this.content?.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
  }

  listen() {
    let from = null;
    this.svg.addEventListener('pointerdown', (event) => {
      from = {x: event.clientX - this.view.x, y: event.clientY - this.view.y, cx: event.clientX, cy: event.clientY};
      this.dragged = false;
    });
    addEventListener('pointermove', (event) => {
      if (!from) return;
      if (Math.hypot(event.clientX - from.cx, event.clientY - from.cy) > 4) this.dragged = true;
      this.view.x = event.clientX - from.x;
      this.view.y = event.clientY - from.y;
      this.move();
    });
    addEventListener('pointerup', () => { from = null; });
    this.svg.addEventListener('wheel', (event) => {
      event.preventDefault();
      const {left, top} = this.svg.getBoundingClientRect();
      const x = event.clientX - left, y = event.clientY - top;
      const scale = Math.min(4, Math.max(0.02, this.view.scale * Math.exp(-event.deltaY / 500)));
      const factor = scale / this.view.scale;
      this.view = {scale, x: x - (x - this.view.x) * factor, y: y - (y - this.view.y) * factor};
      this.move();
    }, {passive: false});
  }
}
