/** The key "/" moves to the field that finds things, wherever one is on the page and not typing. */
const field = document.getElementById('find');

document.addEventListener('keydown', (event) => {
  if (!field || event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, textarea, select, [contenteditable]')) return;
  event.preventDefault();
  field.focus();
  field.select();
});
