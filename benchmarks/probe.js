// Put into every frame before its own scripts: notes when the reader acted and when the answer was painted.
// The tool's own function takes the null's place: probe -> { part: whether it is on screen, ... }.
(() => {
  if (window.__probe) return;
  const ready = /* ready */ null;
  const clock = (stamp) => performance.timeOrigin + stamp;
  const probe = (window.__probe = { acted: 0, painted: 0, parts: {}, hovers: [], goal: null, watching: 0 });

  /** Check every few milliseconds; what is found counts two animation frames later, when it has been painted. */
  probe.watch = (goal) => {
    Object.assign(probe, { goal, painted: 0, parts: {} });
    const turn = ++probe.watching;
    const note = (name) => {
      probe.parts[name] ??= 0;
      requestAnimationFrame(() => requestAnimationFrame((now) => (probe.parts[name] ||= clock(now))));
    };
    const tick = () => {
      if (turn !== probe.watching) return;
      let found = {};
      try {
        found = document.readyState === "loading" ? {} : ready(probe);
      } catch {
        found = {};
      }
      const names = Object.keys(found);
      for (const name of names) if (found[name] && !(name in probe.parts)) note(name);
      if (names.length && names.every((name) => probe.parts[name])) {
        probe.painted = Math.max(...names.map((name) => probe.parts[name]));
        return;
      }
      setTimeout(tick, 8);
    };
    tick();
  };
  probe.watch(null);

  const acted = (event) => (probe.acted = clock(event.timeStamp));
  addEventListener("keydown", (event) => event.key === "Enter" && acted(event), true);
  addEventListener("click", acted, true);

  // A hover's work: its listeners, then the frame that follows (callbacks, style, layout, paint on the main thread).
  const channel = new MessageChannel();
  let hover = null;
  channel.port1.onmessage = () => {
    if (hover?.frame) probe.hovers.push(hover.listeners + performance.now() - hover.frame);
    hover = null;
  };
  addEventListener("pointermove", () => {
    hover = { start: performance.now(), listeners: 0, frame: 0 };
    requestAnimationFrame(() => {
      if (hover) hover.frame = performance.now();
      channel.port2.postMessage(0);
    });
  }, true);
  addEventListener("mousemove", () => hover && (hover.listeners = performance.now() - hover.start));
})();
