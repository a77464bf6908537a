/** Removes the offer to undo after ten seconds, but not from under a pointer or the focus. */
const UNDO_MS = 10_000;
const place = document.getElementById('undo');
let timer;

function removeLater() {
  clearTimeout(timer);
  timer = setTimeout(() => place.replaceChildren(), UNDO_MS);
}

if (place) {
  for (const event of ['pointerenter', 'focusin']) place.addEventListener(event, () => clearTimeout(timer));
  for (const event of ['pointerleave', 'focusout']) place.addEventListener(event, removeLater);
  document.addEventListener('console:changed', ({ detail }) => {
    if (detail === place) removeLater();
  });
  removeLater();
}
