/** Takes the offer to undo away after ten seconds, but not from under a pointer or the focus. */
const UNDO_MS = 10_000;
const notice = document.getElementById('undo');
let timer;

function forgetLater() {
  clearTimeout(timer);
  timer = setTimeout(() => notice.remove(), UNDO_MS);
}

if (notice) {
  for (const event of ['pointerenter', 'focusin']) notice.addEventListener(event, () => clearTimeout(timer));
  for (const event of ['pointerleave', 'focusout']) notice.addEventListener(event, forgetLater);
  forgetLater();
}
