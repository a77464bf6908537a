/** The key form: shows the expiry in the reader's time zone and only the chosen group's models. */
const form = document.getElementById('key-form');
const expires = document.getElementById('f-expires');
const here = document.getElementById('expires-here');

function tellZone() {
  const moment = new Date(`${expires.value}Z`);
  if (expires.value === '' || Number.isNaN(moment.getTime())) {
    here.textContent = '';
    return;
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  here.textContent = zone === 'UTC' ? '' : `That is ${moment.toLocaleString(
    undefined, { dateStyle: 'medium', timeStyle: 'short' },
  )} where you are (${zone}).`;
}

/** Models of other groups are out of the way, unless they are ticked. */
function showModels() {
  const group = form.querySelector('input[name="group"]:checked')?.value;
  for (const choice of form.querySelectorAll('.key-model-list .choice')) {
    const box = choice.querySelector('input');
    const belongs = group === undefined || choice.dataset.groups.split(' ').includes(group);
    choice.hidden = !belongs && !box.checked;
    choice.classList.toggle('astray', !belongs && box.checked && group !== undefined);
  }
}

if (form && expires && here) {
  expires.addEventListener('input', tellZone);
  tellZone();
}

if (form) {
  form.addEventListener('change', (event) => {
    if (event.target.name === 'group' || event.target.name === 'model') showModels();
    if (event.target.name === 'quota' && event.target.value === 'Limited')
      document.getElementById('f-limitUsd').focus();
  });
  showModels();
}

document.getElementById('error-summary')?.focus();
document.getElementById('conflict')?.scrollIntoView({ block: 'nearest' });
