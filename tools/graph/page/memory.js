// The memory plan: time × arena.
'use strict';

// Arena bytes in use, for each instruction.
function liveBytes(memory) {
  const steps = memory.instructions.length;
  const starts = Array.from({length: steps + 1}, () => []);
  memory.tensors.forEach((tensor, i) => starts[Math.min(tensor.first, steps)].push(i));
  let alive = [];
  const live = [];
  for (let step = 0; step < steps; ++step) {
    alive = alive.filter((i) => memory.tensors[i].last >= step).concat(starts[step]);
    alive.sort((a, b) => memory.tensors[a].offset - memory.tensors[b].offset);
    let end = 0, sum = 0;
    for (const i of alive) {
      const {offset, bytes} = memory.tensors[i];
      sum += Math.max(0, offset + bytes - Math.max(end, offset));
      end = Math.max(end, offset + bytes);
    }
    live.push(sum);
  }
  return live;
}

class MemoryView {
  constructor(section, method, onChoose) {
    this.method = method;
    this.memory = method.memory;
    this.onChoose = onChoose;
    if (!this.memory || this.memory.tensors.length === 0) {
      section.replaceChildren(element('p', {class: 'dim'}, this.memory
          ? 'This method has no tensor in the arena.' : 'This page has no memory plan.'));
      return;
    }
    this.live = liveBytes(this.memory);
    this.peak = this.live.indexOf(this.live.reduce((a, b) => Math.max(a, b), 0));
    this.range = [0, this.memory.instructions.length];
    this.plan = element('canvas', {class: 'plan', height: 420});
    this.alive = element('div');
    const report = method.memoryReport();
    const facts = [`arena ${withUnit(this.memory.arena_bytes, 'B')}`,
                   `state ${withUnit(this.memory.state_bytes, 'B')}`,
                   `peak live size ${withUnit(this.live[this.peak], 'B')}`];
    if (report) {
      facts.push(`lower bound ${withUnit(report.lower_bound_bytes, 'B')}`,
                 `without sharing at least ${withUnit(report.unshared_lower_bound_bytes, 'B')}`,
                 `${count(report.elided_instructions)} instructions elided`, `planner ${report.planner}`);
    }
    section.replaceChildren(
        element('h2', {}, 'Memory plan'), element('p', {class: 'dim'}, facts.join(' · ')), this.plan,
        element('p', {class: 'dim'}, 'Each rectangle is a tensor: from its first to its last use, at its arena offset. The curve above shows the live bytes. Click to select an instruction; the wheel zooms in time.'),
        this.alive);
    this.plan.addEventListener('mousemove', (event) => this.hover(event));
    this.plan.addEventListener('mouseleave', hideTip);
    this.plan.addEventListener('click', (event) => this.select(Math.floor(this.at(event).step)));
    this.plan.addEventListener('wheel', (event) => this.zoom(event), {passive: false});
    whenResized(this.plan, () => this.draw());
    this.select(this.peak);
  }

  get curveHeight() { return 70; }

  at(event) {
    const {left, top, width, height} = this.plan.getBoundingClientRect();
    const [first, last] = this.range;
    const y = event.clientY - top;
    return {step: Math.min(this.memory.instructions.length - 1, first + (event.clientX - left) / width * (last - first)),
            offset: (height - y) / (height - this.curveHeight) * this.memory.arena_bytes, inPlan: y > this.curveHeight};
  }

  tensorAt({step, offset, inPlan}) {
    const at = Math.floor(step);
    const there = (t) => t.first <= at && at <= t.last && t.offset <= offset && offset < t.offset + t.bytes;
    return inPlan ? this.memory.tensors.find(there) : undefined;
  }

  hover(event) {
    const at = this.at(event);
    const step = Math.floor(at.step);
    const tensor = this.tensorAt(at);
    const now = `at instruction ${step}, ${this.method.shownName(this.memory.instructions[step])}: ${withUnit(this.live[step], 'B')} live`;
    showTip(event, tensor ? `${this.method.shownName(tensor.name)}\n${tensor.type}, ${withUnit(tensor.bytes, 'B')} at ${count(tensor.offset)}\nlive from ${tensor.first} to ${tensor.last}\n${now}` : now);
    if (tensor !== this.hovered) {
      this.hovered = tensor;
      this.draw();
    }
  }

  zoom(event) {
    event.preventDefault();
    const steps = this.memory.instructions.length;
    const {step} = this.at(event);
    const factor = Math.exp(event.deltaY / 500);
    const length = Math.min(steps, Math.max(8, (this.range[1] - this.range[0]) * factor));
    const first = Math.min(steps - length, Math.max(0, step - (step - this.range[0]) * length / (this.range[1] - this.range[0])));
    this.range = [Math.max(0, first), Math.min(steps, first + length)];
    this.draw();
  }

  select(step) {
    this.selected = step;
    const {instructions, tensors} = this.memory;
    const alive = tensors.filter((t) => t.first <= step && step <= t.last).sort((a, b) => b.bytes - a.bytes);
    const most = 200;
    this.alive.replaceChildren(
        element('h2', {}, step === this.peak ? `Largest tensors at the peak: live at instruction ${step}, ` : `Live at instruction ${step}, `,
                link(this.method.shownName(instructions[step]), () => this.onChoose(instructions[step])),
                ` (${withUnit(this.live[step], 'B')})`),
        table([
          {title: 'tensor', text: (t) => link(this.method.shownName(t.name), () => this.onChoose(t.name))},
          {title: 'type', text: (t) => element('code', {}, t.type)},
          {title: 'bytes', number: true, text: (t) => withUnit(t.bytes, 'B')},
          {title: 'share', number: true, text: (t) => percent(t.bytes, this.live[step])},
          {title: 'offset', number: true, text: (t) => count(t.offset)},
          {title: 'alive', number: true, text: (t) => `${t.first} – ${t.last}`},
        ], alive.slice(0, most)),
        alive.length > most ? element('p', {class: 'dim'}, `and ${count(alive.length - most)} more`) : '');
    this.draw();
  }

  draw() {
    const {plan, memory} = this;
    const width = plan.clientWidth, height = 420;
    if (width === 0) return;
    const scale = devicePixelRatio || 1;
    plan.width = width * scale;
    plan.height = height * scale;
    plan.style.height = `${height}px`;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name);
    const context = plan.getContext('2d');
    context.scale(scale, scale);
    const [first, last] = this.range;
    const x = (step) => (step - first) / (last - first) * width;
    const bottom = height, top = this.curveHeight;
    const y = (offset) => bottom - offset / memory.arena_bytes * (bottom - top);
    // Live bytes.
    const most = this.live[this.peak];
    context.fillStyle = color('--curve');
    context.beginPath();
    context.moveTo(x(0), top - 6);
    this.live.forEach((bytes, step) => {
      const level = top - 6 - bytes / most * (top - 14);
      context.lineTo(x(step), level);
      context.lineTo(x(step + 1), level);
    });
    context.lineTo(x(this.live.length), top - 6);
    context.fill();
    // Tensors; those live at the selected instruction are highlighted.
    for (const tensor of memory.tensors) {
      if (tensor.last + 1 < first || tensor.first > last) continue;
      const chosen = tensor.first <= this.selected && this.selected <= tensor.last;
      const left = x(tensor.first), w = Math.max(1, x(tensor.last + 1) - left);
      const high = y(tensor.offset + tensor.bytes), h = Math.max(1, y(tensor.offset) - high);
      context.fillStyle = chosen ? color('--peak') : color('--tensor');
      context.globalAlpha = tensor === this.hovered ? 1 : 0.78;
      context.fillRect(left, high, w, h);
      context.globalAlpha = 1;
      if (w > 2 && h > 2) {
        context.strokeStyle = color('--panel');
        context.strokeRect(left + 0.5, high + 0.5, w - 1, h - 1);
      }
      if (w > 60 && h > 13) {
        context.fillStyle = '#15202b';
        context.font = '11px system-ui, sans-serif';
        context.save();
        context.beginPath();
        context.rect(left, high, w - 4, h);
        context.clip();
        context.fillText(this.method.shownName(tensor.name), left + 4, high + Math.min(h - 3, 12));
        context.restore();
      }
    }
    context.strokeStyle = color('--text');
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x(this.selected + 0.5), 0);
    context.lineTo(x(this.selected + 0.5), height);
    context.stroke();
  }
}
