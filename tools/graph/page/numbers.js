// The JSON of a page, and numbers as text. Common to all pages.
'use strict';

const DATA = JSON.parse(document.getElementById('data').textContent);

function count(number) {
  return number.toLocaleString('en-US');
}

// "1 node", "2 nodes".
function counted(number, what) {
  return `${count(number)} ${what}${number === 1 ? '' : 's'}`;
}

// Three digits and a unit, in steps of 1000: withUnit(1234567, 'B') is "1.23 MB".
function withUnit(number, unit) {
  const steps = ['', 'k', 'M', 'G', 'T', 'P'];
  let step = 0;
  while (number >= 999.5 && step + 1 < steps.length) {
    number /= 1000;
    ++step;
  }
  const digits = step === 0 ? (Number.isInteger(number) ? 0 : 2) : number < 10 ? 2 : number < 100 ? 1 : 0;
  return `${number.toFixed(digits)} ${steps[step]}${unit}`;
}

function duration(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 1 ? `${ms.toFixed(1)} ms` : `${(ms * 1000).toFixed(1)} µs`;
}

function percent(part, whole) {
  if (whole === 0) return '–';
  const share = 100 * part / whole;
  return `${share.toFixed(share > 0 && share < 10 || share > 99 && share < 100 ? 1 : 0)} %`;
}

// Names that another operator has in its dialect, without it: "aten.add.Tensor".
function shortOp(op) {
  return op.replace(/^edge\./, '').replace(/\.default$/, '');
}
