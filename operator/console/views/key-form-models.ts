/** [P] Which of its group's models a key may call: all, or the ones that are ticked. */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { faultsAt, fieldId, hintAt, tied } from './form-fields.ts';
import type { GroupChoice } from './group-choices.ts';
import { linesOf } from './lines.ts';
import { theirs } from './key-form-view.ts';
import type { KeyFormView } from './key-form-view.ts';

/** Boxes to tick for the models of the groups that can be chosen, or lines to type in where they are not known. */
export function renderModels(view: KeyFormView): Html {
  const { form, faults, groups, others } = view;
  const radio = (value: string, label: string, on: boolean): Html => (
    html`<label class="choice"><input type="radio" name="allowed" value="${value}"${flag('checked', on)}><span>${label}</span></label>`);
  const known = groups.some(({ models }) => models.length > 0);
  return html`<fieldset class="choices key-models" id="${fieldId('models')}" tabindex="-1"${tied('models', faults, false)}><legend>Models</legend>
${radio('All', 'All models of the group, also those that it gets later', !form.restricted)}
${radio('Some', 'Only these', form.restricted)}
<div class="key-models-more">${known ? renderBoxes(view, groups) : renderLines(view)}</div>
${theirs('models', others)}${faultsAt('models', faults)}</fieldset>`;
}

/** Names that no group has are still there, ticked: the key names them. */
function renderBoxes({ form }: KeyFormView, groups: readonly GroupChoice[]): Html {
  const holders = new Map<string, string[]>();
  for (const { name, models } of groups) for (const model of models) holders.set(model, [...holders.get(model) ?? [], name]);
  const names = [...new Set([...holders.keys(), ...form.models])].sort();
  const single = groups.length === 1;
  return html`<div class="key-model-list" role="group" aria-label="Models that this key may call">${names.map((name) => {
    const groupNames = holders.get(name);
    const note = groupNames === undefined ? 'in none of these groups' : groupNames.join(', ');
    return html`<label class="choice" data-groups="${(groupNames ?? []).join(' ')}"><input type="checkbox" name="model" value="${name}"${flag('checked', form.models.includes(name))}>\
<span><bdi class="mono">${name}</bdi>${single && groupNames !== undefined ? NOTHING : html` <small class="key-model-groups">${note}</small>`}</span></label>`;
  })}</div>`;
}

function renderLines({ form, faults }: KeyFormView): Html {
  return html`<div class="field"><label for="models-text" class="vh">Models, one a line</label>${hintAt('models', 'One name a line, exactly as the price page has them.')}\
<textarea id="models-text" name="models" rows="4" class="mono" spellcheck="false" autocapitalize="off"${tied('models', faults, true)}>
${linesOf(form.models.join('\n'))}</textarea></div>`;
}
