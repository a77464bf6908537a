/**
 * The key form: shows the name that a key will have, the expiry in the reader's time zone, and only the groups and
 * models that can be chosen with what is chosen already.
 */
const form = document.getElementById('key-form');
const expires = document.getElementById('f-expires');
const here = document.getElementById('expires-here');
const name = document.getElementById('f-name');
const becomes = document.getElementById('name-becomes');
const account = document.getElementById('f-account');

function tellZone() {
  const moment = new Date(`${expires.value}Z`);
  if (expires.value === '' || Number.isNaN(moment.getTime())) {
    here.textContent = '';
    return;
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  here.textContent =
    zone === 'UTC'
      ? ''
      : `That is ${moment.toLocaleString(undefined, {
          dateStyle: 'medium',
          timeStyle: 'short',
        })} where you are (${zone}).`;
}

/** As queries/object-name.ts makes names. */
function tellName() {
  const plain = name.value.trim().normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, 63)
    .replace(/^[-.]+|[-.]+$/g, '');
  becomes.textContent = slug === '' || slug === name.value ? '' : `It will be called ${slug}.`;
}

/** The namespace of the chosen account; empty: none is chosen. */
function chosenNamespace() {
  if (!account) return '';
  return account.selectedOptions?.[0]?.dataset.namespace ?? account.value.split('/')[0];
}

/** Hides the groups that do not admit the account's namespace, and deselects them. */
function showGroups() {
  const namespace = chosenNamespace();
  const groups = [...form.querySelectorAll('.key-group')];
  for (const group of groups) {
    const only = group.dataset.namespaces?.split(' ');
    group.hidden = namespace !== '' && only !== undefined && !only.includes(namespace);
  }
  if (!groups.some((group) => group.hidden && group.querySelector('input').checked)) return;
  const first = groups.find((group) => !group.hidden);
  if (first) first.querySelector('input').checked = true;
}

/** Hides models of other groups, unless they are ticked. */
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

if (form && name && becomes) {
  name.addEventListener('input', tellName);
  tellName();
}

if (form) {
  form.addEventListener('change', (event) => {
    if (event.target === account) showGroups();
    if (event.target === account || event.target.name === 'group' || event.target.name === 'model') showModels();
    if (event.target.name === 'quota' && event.target.value === 'Limited')
      document.getElementById('f-limitUsd').focus();
  });
  showGroups();
  showModels();
}

(document.querySelector('[aria-invalid="true"]') ?? document.getElementById('error-summary'))?.focus();
document.getElementById('conflict')?.scrollIntoView({ block: 'nearest' });
