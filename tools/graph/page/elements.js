// Elements of the page. Strings of the model only become text nodes and attributes.
'use strict';

const byId = (id) => document.getElementById(id);

// element('div', {class: 'a', onclick: f, style: {width: '3px'}}, 'text', other, …)
function element(tag, fields = {}, ...children) {
  return fillElement(document.createElement(tag), fields, children);
}

function svgElement(tag, fields = {}, ...children) {
  return fillElement(document.createElementNS('http://www.w3.org/2000/svg', tag), fields, children);
}

function fillElement(made, fields, children) {
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith('on')) {
      made.addEventListener(name.slice(2), value);
    } else if (name === 'style' && typeof value === 'object') {
      Object.assign(made.style, value);
    } else {
      made.setAttribute(name, value);
    }
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// An inline clickable element; a button would not be inline.
function link(text, onclick) {
  const keyed = (event) => { if (event.key === 'Enter') onclick(); };
  return element('a', {class: 'link', role: 'button', tabindex: 0, onclick, onkeydown: keyed}, text);
}

// Observers that change what they observe wait for the next frame.
function whenResized(observed, then) {
  new ResizeObserver(() => requestAnimationFrame(then)).observe(observed);
}

// A virtual list: only visible rows exist. `render(row, index)` gives an element of class
// "row"; `head` stays at the top.
class VirtualList {
  constructor(container, rowHeight, render, head = null) {
    this.container = container;
    this.rowHeight = rowHeight;
    this.render = render;
    this.rows = [];
    this.all = element('div', {class: 'all'});
    container.replaceChildren(...(head ? [head] : []), this.all);
    container.addEventListener('scroll', () => this.draw());
    whenResized(container, () => this.draw());
  }

  show(rows) {
    this.rows = rows;
    this.all.style.height = `${rows.length * this.rowHeight}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.container.scrollTop / this.rowHeight) - 5);
    const last = Math.min(this.rows.length,
                          first + Math.ceil(this.container.clientHeight / this.rowHeight) + 10);
    const drawn = [];
    for (let i = first; i < last; ++i) {
      const row = this.render(this.rows[i], i);
      row.style.top = `${i * this.rowHeight}px`;
      row.style.height = `${this.rowHeight}px`;
      drawn.push(row);
    }
    this.all.replaceChildren(...drawn);
  }

  reveal(index) {
    const top = index * this.rowHeight;
    const {scrollTop, clientHeight} = this.container;
    if (top < scrollTop || top + this.rowHeight > scrollTop + clientHeight) {
      this.container.scrollTop = Math.max(0, top - clientHeight / 3);
    }
    this.draw();
  }
}

// columns: [{title, number, text: (row) => string or element}]
function table(columns, rows) {
  const cells = (tag, of) => columns.map(
      (column) => element(tag, column.number ? {class: 'number'} : {}, of(column)));
  return element('table', {},
                 element('thead', {}, element('tr', {}, ...cells('th', (column) => column.title))),
                 element('tbody', {}, ...rows.map((row) => element(
                     'tr', {}, ...cells('td', (column) => column.text(row))))));
}

function card(value, what) {
  return element('div', {class: 'card'}, element('b', {}, value), element('span', {}, what));
}

// Groups rows by `key`, the most frequent first.
function groupBy(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    if (!groups.has(key(row))) groups.set(key(row), []);
    groups.get(key(row)).push(row);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

function meter(share) {
  return element('div', {class: 'meter'},
                 element('div', {style: {width: `${Math.min(100, 100 * share)}%`}}));
}

// parts: [{value, color, name, plain}]; zero values have no part.
function stack(parts) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0);
  return element('div', {class: 'stack'}, ...parts.filter((part) => part.value > 0).map((part) => {
    const text = `${part.name} ${percent(part.value, whole)}`;
    return element('div', {class: part.plain ? 'kernel' : '', title: text,
                           style: {flex: `${part.value / whole} 0 0`, background: part.color}},
                   part.value / whole > 0.09 ? text : '');
  }));
}

function legend(entries) {
  return entries.map(([name, color]) => element(
      'span', {}, element('span', {class: 'swatch', style: {background: color}}), name));
}

function showTip(event, text) {
  const tip = byId('tip');
  tip.textContent = text;
  tip.hidden = text === '';
  const {offsetWidth, offsetHeight} = tip;
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - offsetHeight - 8)}px`;
}

function hideTip() {
  byId('tip').hidden = true;
}
