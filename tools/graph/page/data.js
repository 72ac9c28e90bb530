// Data of the page of a program, as in report_page.h, and derived data.
'use strict';

const REPORT = DATA.report;
const PROFILE = DATA.profile;
const KERNELS = '';  // the backend of what no delegate computes

function backendName(backend) {
  return backend === KERNELS ? 'kernels' : backend;
}

function backendColor(backend) {
  return backend === KERNELS ? 'var(--kernel)' : DATA.colors[backend];
}

class Method {
  constructor(json) {
    Object.assign(this, json);
    const reasons = new Map();
    for (const left of REPORT ? REPORT.left_over : []) {
      if (left.method === this.name) reasons.set(`${left.graph}\n${left.node}`, left.reason);
    }
    // Backends' notes about nodes, "node: text", by the delegate's call and the node.
    const decisions = new Map();
    for (const info of REPORT?.delegate_info ?? []) {
      if (info.method !== this.name) continue;
      for (const line of info.lines) {
        const colon = line.indexOf(': ');
        const key = `${info.node}\n${line.slice(0, colon)}`;
        if (colon > 0) decisions.set(key, [...decisions.get(key) ?? [], line.slice(colon + 2)]);
      }
    }
    const times = this.times();
    this.graphs.forEach((graph, index) => {
      graph.method = this;
      graph.index = index;
      graph.nodes.forEach((node, i) => {
        node.graph = graph;
        node.index = i;
        node.operands ??= [];
        node.results ??= [];
        node.attributes ??= [];
        node.bodies ??= [];
        node.backend = node.delegate === undefined ? KERNELS : this.delegates[node.delegate].backend;
        if (node.delegate === undefined) node.reason = reasons.get(`${graph.name}\n${node.name}`);
        else node.decisions = decisions.get(`${this.delegates[node.delegate].call}\n${node.name}`);
        node.ms = node.op === 'delegate' ? times.get(`delegate ${node.delegate} (${node.backend})`)
                                         : times.get(node.name);
      });
    });
  }

  // The time of a call by name of the instruction, including nested instructions.
  times() {
    const times = new Map();
    if (!PROFILE || PROFILE.method !== this.name) return times;
    for (const row of PROFILE.instructions) {
      if (row.path !== this.name) continue;
      times.set(row.name, (times.get(row.name) ?? 0) + (row.total_p50_ms ?? row.p50_ms));
    }
    return times;
  }

  * nodes() {
    for (const graph of this.graphs) yield* graph.nodes;
  }

  // [{backend, nodes, flops, bytes}], kernels last: from the report, with the delegates and their
  // generic kernels, else from the nodes.
  delegation() {
    if (REPORT) {
      return REPORT.delegation.filter((d) => d.method === this.name)
          .map((d) => ({backend: d.backend, nodes: d.nodes, flops: d.flops, bytes: d.constant_bytes,
                        calls: d.delegate_calls, generic: d.generic_kernels}));
    }
    const rows = new Map();
    for (const node of this.nodes()) {
      if (node.outside) continue;
      const row = rows.get(node.backend) ?? {backend: node.backend, nodes: 0, flops: 0, bytes: 0};
      row.nodes += 1;
      rows.set(node.backend, row);
    }
    return [...rows.values()].sort((a, b) => (a.backend === KERNELS) - (b.backend === KERNELS));
  }

  // The number of the delegate that the instruction of this name calls. A call's other results have
  // the name and a number: "call.1".
  delegateCalled(name) {
    const index = this.delegates.findIndex(({call}) => call && (name === call || name.startsWith(`${call}.`)));
    return index < 0 ? undefined : index;
  }

  // Displayed name of an instruction.
  shownName(name) {
    const index = this.delegateCalled(name);
    if (index === undefined) return name;
    const {backend, call} = this.delegates[index];
    return `${backend} #${index}${name.slice(call.length)}`;
  }

  memoryReport() {
    return REPORT ? REPORT.memory.find((m) => m.method === this.name) : undefined;
  }
}

// The users of a node's results.
function consumersOf(node) {
  const graph = node.graph;
  if (!graph.consumers) {
    graph.consumers = graph.nodes.map(() => []);
    for (const other of graph.nodes) {
      for (const from of new Set(other.operands.map((operand) => operand[0]))) {
        graph.consumers[from].push(other);
      }
    }
  }
  return graph.consumers[node.index];
}

const METHODS = DATA.methods.map((json) => new Method(json));
