/** [P] The choice of a key's group: only groups that admit its namespace, each with its ratio and its models. */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { counted } from '#web/figures.ts';
import { faultsAt, fieldId, textField, tied } from './form-fields.ts';
import type { GroupChoice } from './group-choices.ts';
import { theirs } from './key-form-view.ts';
import type { KeyFormView } from './key-form-view.ts';

/** So many names stand there at once; the others fold away. */
const MODELS_SHOWN = 4;

/** A list to choose from, or a line to type in where there is none yet. */
export function renderGroups({ form, faults, groups, others }: KeyFormView): Html {
  if (groups.length === 0) {
    const hint = 'No group admits keys of this namespace. Ask the platform team for one.';
    return textField({
      field: 'group', label: 'Group', value: form.group, faults, hint, short: true,
      attributes: html` type="text" required maxlength="253" autocomplete="off" spellcheck="false" class="mono"`, below: theirs('group', others),
    });
  }
  return html`<fieldset class="choices key-groups" id="${fieldId('group')}" tabindex="-1"${tied('group', faults, false)}><legend>Group</legend>
<p class="hint">Decides the models, and multiplies their prices.</p>
${groups.map((group, index) => renderChoice(group, index, form.group))}
${theirs('group', others)}${faultsAt('group', faults)}</fieldset>`;
}

function renderChoice(group: GroupChoice, index: number, chosen: string): Html {
  const id = `group-${index}`;
  return html`<div class="key-group"><label class="choice" for="${id}"><input type="radio" id="${id}" name="group" value="${group.name}" required${flag('checked', group.name === chosen)}>\
<span class="key-group-name"><bdi>${group.displayName}</bdi>${group.displayName === group.name ? NOTHING : html` <small class="mono"><bdi>${group.name}</bdi></small>`}</span>\
${group.ratio === '' ? NOTHING : html`<span class="key-group-ratio" title="Every price is multiplied by ${group.ratio}">× ${group.ratio}</span>`}</label>
${group.warning === undefined ? NOTHING : html`<p class="key-group-note warn">${group.warning}</p>`}${renderModels(group)}</div>`;
}

function renderModels({ models, warning }: GroupChoice): Html {
  if (models.length === 0) return warning === undefined ? html`<p class="key-group-note">No model can be called through it at the moment.</p>` : NOTHING;
  const few = models.length <= MODELS_SHOWN + 1;
  const names = (list: readonly string[]): Html => html`<ul class="tags">${list.map((name) => html`<li class="badge"><bdi>${name}</bdi></li>`)}</ul>`;
  if (few) return html`<div class="key-group-note">${names(models)}</div>`;
  return html`<div class="key-group-note">${names(models.slice(0, MODELS_SHOWN))}\
<details class="fold"><summary>${counted(models.length - MODELS_SHOWN, 'more model')}</summary>${names(models.slice(MODELS_SHOWN))}</details></div>`;
}
