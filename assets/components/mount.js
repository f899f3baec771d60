// Streamlit calls a component's function again with every change; the view behind it stays.
const views = new WeakMap();

/** The view of this component's host element, made at the first call, told the news, taken down at unmount. */
export function mount(View, component) {
  const { parentElement, data } = component;
  if (!data) return undefined;
  let view = views.get(parentElement);
  if (!view) {
    view = new View(parentElement);
    views.set(parentElement, view);
  }
  view.update(component);
  return () => {
    view.destroy();
    views.delete(parentElement);
  };
}
