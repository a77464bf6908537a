/** Shows the examples of a model as soon as it is chosen; the button that does so without scripts is hidden. */
const form = document.getElementById('use-model');

if (form) {
  form.querySelector('button').hidden = true;
  form.addEventListener('change', () => form.requestSubmit());
}
