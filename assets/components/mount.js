// Streamlit calls a component's function again with every change; the view behind it stays. Where another component
// takes over the element (a long text's map, then a short one's), it gets no element of its own: so all components of
// the page share the list of views, and each takes down one that is not its own.
const views = (globalThis.tfmvizViews ??= new WeakMap());

/** The view of this component's host element, made at the first call, told the news, taken down at unmount. */
export function mount(View, component) {
  const { parentElement, data } = component;
  if (!data) return undefined;
  let view = views.get(parentElement);
  if (!(view instanceof View)) {
    view?.destroy();
    view = new View(parentElement);
    views.set(parentElement, view);
  }
  view.update(component);
  return () => {
    view.destroy();
    if (views.get(parentElement) === view) views.delete(parentElement);
  };
}
