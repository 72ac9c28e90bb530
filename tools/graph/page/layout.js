// Layered layout of boxes: ranks by data flow, then crossings, then positions.
'use strict';

const RANK_GAP = 34;
const BOX_GAP = 18;
const MOST_BENDS = 4000;  // of edges over several ranks; with more they are straight

// boxes: [{width, height}] in order of execution; edges: [from, to], indices of boxes. Sets x, y
// (the middle of the upper edge) of each box and returns {edges: [{from, to, points, back}], width,
// height}. An edge to an earlier box, as between alternating modules, is `back`.
function layOut(boxes, edges) {
  const forward = edges.filter(([from, to]) => from < to);
  const incoming = boxes.map(() => []), outgoing = boxes.map(() => []);
  for (const [from, to] of forward) {
    incoming[to].push(from);
    outgoing[from].push(to);
  }
  const ranks = boxes.map(() => 0);
  boxes.forEach((_, i) => {
    for (const from of incoming[i]) ranks[i] = Math.max(ranks[i], ranks[from] + 1);
  });
  // Sources are placed directly above their users.
  boxes.forEach((_, i) => {
    if (incoming[i].length === 0 && outgoing[i].length > 0) {
      ranks[i] = Math.min(...outgoing[i].map((to) => ranks[to])) - 1;
    }
  });

  // Cells: boxes, and bends where an edge passes a rank.
  const cells = boxes.map((box, i) => ({box, rank: ranks[i], width: box.width, above: [], below: []}));
  const bends = forward.reduce((sum, [from, to]) => sum + ranks[to] - ranks[from] - 1, 0);
  const join = (a, b) => {
    a.below.push(b);
    b.above.push(a);
  };
  const routes = forward.map(([from, to]) => {
    const route = [cells[from]];
    for (let rank = ranks[from] + 1; rank < ranks[to] && bends <= MOST_BENDS; ++rank) {
      const bend = {box: null, rank, width: 6, above: [], below: []};
      cells.push(bend);
      route.push(bend);
    }
    route.push(cells[to]);
    for (let i = 1; i < route.length; ++i) join(route[i - 1], route[i]);
    return route;
  });
  const layers = [];
  for (const cell of cells) (layers[cell.rank] ??= []).push(cell);
  reduceCrossings(layers);
  placeAcross(layers);

  let y = 0;
  for (const layer of layers) {
    const height = layer.reduce((most, cell) => Math.max(most, cell.box ? cell.box.height : 0), 0);
    for (const cell of layer) {
      cell.y = y;
      cell.height = cell.box ? cell.box.height : height;
      if (cell.box) Object.assign(cell.box, {x: cell.x, y});
    }
    y += height + RANK_GAP;
  }
  const left = cells.reduce((least, cell) => Math.min(least, cell.x - cell.width / 2), Infinity);
  const right = cells.reduce((most, cell) => Math.max(most, cell.x + cell.width / 2), -Infinity);
  const drawn = routes.map((route, i) => {
    const points = [];
    route.forEach((cell, k) => {
      if (k > 0) points.push([cell.x, cell.y]);
      if (k + 1 < route.length) points.push([cell.x, cell.y + cell.height]);
    });
    return {from: forward[i][0], to: forward[i][1], points, back: false};
  });
  for (const [from, to] of edges) {
    if (from <= to) continue;
    const a = boxes[from], b = boxes[to];
    drawn.push({from, to, back: true,
                points: [[a.x + a.width / 2, a.y + a.height / 2], [b.x + b.width / 2, b.y + b.height / 2]]});
  }
  return {edges: drawn, left: cells.length > 0 ? left : 0, width: cells.length > 0 ? right - left : 0,
          height: Math.max(0, y - RANK_GAP)};
}

function reduceCrossings(layers) {
  const number = (layer) => layer.forEach((cell, i) => { cell.place = i; });
  layers.forEach(number);
  const sortBy = (layer, side) => {
    for (const cell of layer) {
      const others = cell[side];
      cell.key = others.length === 0 ? cell.place
                                     : others.reduce((sum, c) => sum + c.place, 0) / others.length;
    }
    layer.sort((a, b) => a.key - b.key || a.place - b.place);
    number(layer);
  };
  for (let sweep = 0; sweep < 6; ++sweep) {
    for (let r = 1; r < layers.length; ++r) sortBy(layers[r], 'above');
    for (let r = layers.length - 2; r >= 0; --r) sortBy(layers[r], 'below');
  }
}

// Assigns each cell an x near its neighbors, in the order of its layer.
function placeAcross(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const cell of layer) {
      cell.x = x + cell.width / 2;
      x += cell.width + BOX_GAP;
    }
    for (const cell of layer) cell.x -= (x - BOX_GAP) / 2;
  }
  const pull = (layer, side) => {
    const wanted = layer.map((cell) => cell[side].length === 0
        ? cell.x : cell[side].reduce((sum, c) => sum + c.x, 0) / cell[side].length);
    // As far left as wanted and possible, as far right, and the middle of both.
    const leftmost = [], rightmost = [];
    for (let i = 0; i < layer.length; ++i) {
      const gap = i === 0 ? 0 : (layer[i - 1].width + layer[i].width) / 2 + BOX_GAP;
      leftmost[i] = i === 0 ? wanted[i] : Math.max(wanted[i], leftmost[i - 1] + gap);
    }
    for (let i = layer.length - 1; i >= 0; --i) {
      const gap = i + 1 === layer.length ? 0 : (layer[i + 1].width + layer[i].width) / 2 + BOX_GAP;
      rightmost[i] = i + 1 === layer.length ? wanted[i] : Math.min(wanted[i], rightmost[i + 1] - gap);
    }
    layer.forEach((cell, i) => { cell.x = (leftmost[i] + rightmost[i]) / 2; });
  };
  for (let sweep = 0; sweep < 8; ++sweep) {
    for (let r = 1; r < layers.length; ++r) pull(layers[r], 'above');
    for (let r = layers.length - 2; r >= 0; --r) pull(layers[r], 'below');
  }
}
