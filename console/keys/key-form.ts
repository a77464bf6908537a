/** [P] The fields of a key's form, which creating and editing a key share. */
import { pluralize } from '#web/format.ts';
import { flag, html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { PERIODS, WHEN_SHORT } from '../forms/api-key.ts';
import type { FormError, KeyField, KeyForm } from '../forms/api-key.ts';
import type { EditField, ConcurrentChange } from '../forms/key-changes.ts';
import { renderErrors, fieldId, renderHint, selectField, textField, describedBy } from '../views/form-fields.ts';
import { RATE_FIELDS, RATE_LABELS } from '../views/rate-limits.ts';
import type { RateField } from '../views/rate-limits.ts';
import type { GroupChoice } from './key-choices.ts';

export interface KeyFormView {
  readonly form: KeyForm;
  readonly errors: readonly FormError[];
  /** Empty: none admits the namespace. */
  readonly groups: readonly GroupChoice[];
  /** Empty for a new key. */
  readonly others: readonly ConcurrentChange[];
}

export const FIELD_LABELS: Readonly<Record<KeyField, string>> = {
  namespace: 'Namespace',
  name: 'Name',
  group: 'Group',
  account: 'Account',
  enabled: 'Enabled',
  limitUsd: 'Quota',
  period: 'Period',
  timeZone: 'Time zone',
  whenShort: 'When too little is left',
  expires: 'Expires',
  models: 'Models',
  maxConcurrency: 'Concurrent calls',
  ...RATE_LABELS,
  keyType: 'Where the key comes from',
  secret: 'Secret',
  overlap: 'The old key',
  confirm: 'Name',
};

/** The change that somebody else has made to a field meanwhile. */
function changedMeanwhile(field: EditField, others: readonly ConcurrentChange[]): Html {
  const change = others.find((each) => each.field === field);
  if (!change) return NOTHING;
  return html`<p class="key-theirs">
    <b>Changed meanwhile</b> to <q>${change.now}</q>${
      change.was === undefined ? NOTHING : html`; it was <q>${change.was}</q>`
    }.
    ${change.typed === undefined ? 'That is what the form shows now.' : 'The form keeps what you typed.'}
  </p>`;
}

const PERIOD_LABELS = { Never: 'Never', Daily: 'Every day', Weekly: 'Every week', Monthly: 'Every month' } as const;
const WHEN_SHORT_LABELS = { Lower: 'Shorten its answer to what can be paid', Refuse: 'Refuse the call' } as const;

/** All fields of an edit. */
export function renderKeyFields(view: KeyFormView): Html {
  return html`${renderEnabled(view)} ${renderGroups(view)} ${renderModels(view)} ${renderQuota(view)}
  ${renderWhenShort(view)} ${renderExpires(view)} ${renderConcurrency(view)} ${renderRates(view)}`;
}

/** The fields that every new key needs. */
export function renderMainFields(view: KeyFormView): Html {
  return html`${renderGroups(view)} ${renderQuota(view)}`;
}

/** The fields that few new keys need. */
export function renderMoreFields(view: KeyFormView): Html {
  return html`${renderModels(view)} ${renderExpires(view)} ${renderConcurrency(view)} ${renderRates(view)}
  ${renderWhenShort(view)} ${renderEnabled(view)}`;
}

/** The controls of `renderMoreFields`. */
export const MORE_FIELDS: readonly KeyField[] = [
  'models',
  'expires',
  'maxConcurrency',
  ...RATE_FIELDS,
  'whenShort',
  'enabled',
];

function renderEnabled({ form, errors, others }: KeyFormView): Html {
  return html`<div class="field">
    <label class="choice key-enabled" for="${fieldId('enabled')}">
      <input
        type="checkbox"
        class="switch"
        role="switch"
        id="${fieldId('enabled')}"
        name="enabled"
        value="true"
        ${flag('checked', form.enabled)}
        ${describedBy('enabled', errors, true)}
      />
      <span>Enabled</span>
    </label>
    ${renderHint('enabled', 'When off, new calls are refused at once; running ones finish.')}
    ${changedMeanwhile('enabled', others)} ${renderErrors('enabled', errors)}
  </div>`;
}

function renderQuota({ form, errors, others }: KeyFormView): Html {
  const radio = (value: string, label: string, on: boolean): Html =>
    html`<label class="choice">
      <input type="radio" name="quota" value="${value}" ${flag('checked', on)} />
      <span>${label}</span>
    </label>`;
  return html`<fieldset class="choices key-quota" id="key-quota">
    <legend>Quota</legend>
    <p class="hint">What this key may spend, besides what its account has.</p>
    ${radio('Unlimited', 'Unlimited', !form.limited)} ${radio('Limited', 'A limit in US dollars', form.limited)}
    <div class="key-quota-more">
      ${textField({
        field: 'limitUsd',
        label: html`<span class="vh">Limit in US dollars</span>`,
        value: form.limitUsd,
        errors,
        prefix: '$',
        suffix: 'USD',
        short: true,
        attributes: html`type="text" inputmode="decimal" autocomplete="off" spellcheck="false" placeholder="25.00"
        maxlength="20"`,
        below: changedMeanwhile('limit', others),
      })}
      ${selectField({
        field: 'period',
        label: 'Resets',
        value: form.period,
        errors,
        options: PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] })),
        hint: 'At midnight, on Monday or on the 1st.',
        below: changedMeanwhile('period', others),
      })}
      ${textField({
        field: 'timeZone',
        label: 'In the time zone',
        value: form.timeZone,
        errors,
        short: true,
        attributes: html`type="text" autocomplete="off" spellcheck="false" placeholder="UTC" maxlength="64"`,
        below: changedMeanwhile('timeZone', others),
      })}
    </div>
  </fieldset>`;
}

function renderWhenShort({ form, errors, others }: KeyFormView): Html {
  return selectField({
    field: 'whenShort',
    label: 'When less is left than a call may cost',
    value: form.whenShort,
    errors,
    options: WHEN_SHORT.map((value) => ({ value, label: WHEN_SHORT_LABELS[value] })),
    short: false,
    below: changedMeanwhile('whenShort', others),
  });
}

/** The control has no zone of its own, so the form says which one it means; a script adds the reader's. */
function renderExpires({ form, errors, others }: KeyFormView): Html {
  const step = /T\d{2}:\d{2}:/.test(form.expires) ? html`step="any"` : NOTHING;
  return textField({
    field: 'expires',
    label: html`Expires <span class="soft">in UTC</span>`,
    value: form.expires,
    errors,
    short: true,
    hint: 'From this moment on the key is refused. Empty: it never expires.',
    attributes: html`type="datetime-local" min="1970-01-01T00:00" max="9999-12-31T23:59" ${step} data-utc`,
    below: html`<p class="hint" id="expires-here" aria-live="polite"></p>
      ${changedMeanwhile('expires', others)}`,
  });
}

function renderConcurrency({ form, errors, others }: KeyFormView): Html {
  return textField({
    field: 'maxConcurrency',
    label: 'Concurrent calls',
    value: form.maxConcurrency,
    errors,
    short: true,
    hint: 'How many calls with this key may be running, over all proxies. Empty: any number.',
    attributes: html`type="number" inputmode="numeric" min="1" max="1000000" step="1" placeholder="Any number"`,
    below: changedMeanwhile('maxConcurrency', others),
  });
}

const RATE_HINTS: Readonly<Record<RateField, string>> = {
  requestsPerMinute: 'How many calls this key may make in any 60 seconds, over all proxies. Empty: any number.',
  inputTokensPerMinute: 'Without those that a provider reads from its cache. Empty: any number.',
  outputTokensPerMinute: 'A running call counts with its output limit. Empty: any number.',
};

function renderRates({ form, errors, others }: KeyFormView): readonly Html[] {
  return RATE_FIELDS.map((field) =>
    textField({
      field,
      label: RATE_LABELS[field],
      value: form[field],
      errors,
      short: true,
      hint: RATE_HINTS[field],
      attributes: html`type="number" inputmode="numeric" min="1" max="1000000000" step="1" placeholder="Any number"`,
      below: changedMeanwhile(field, others),
    }),
  );
}

/** The number of names that are shown at once; the others are folded. */
const MODELS_SHOWN = 4;

/** A list to choose from, or a line to type in where there is none yet. */
function renderGroups({ form, errors, groups, others }: KeyFormView): Html {
  if (groups.length === 0) {
    const hint = 'No group admits keys of this namespace. Ask the platform team for one.';
    return textField({
      field: 'group',
      label: 'Group',
      value: form.group,
      errors,
      hint,
      short: true,
      attributes: html`type="text" required maxlength="253" autocomplete="off" spellcheck="false" class="mono"`,
      below: changedMeanwhile('group', others),
    });
  }
  return html`<fieldset
    class="choices key-groups"
    id="${fieldId('group')}"
    tabindex="-1"
    ${describedBy('group', errors, false)}
  >
    <legend>Group</legend>
    <p class="hint">Decides the models, and multiplies their prices.</p>
    ${groups.map((group, index) => renderChoice(group, index, form.group))} ${changedMeanwhile('group', others)}
    ${renderErrors('group', errors)}
  </fieldset>`;
}

function renderChoice(group: GroupChoice, index: number, chosen: string): Html {
  const id = `group-${index}`;
  return html`<div
    class="key-group"
    ${group.onlyIn === undefined ? NOTHING : html`data-namespaces="${group.onlyIn.join(' ')}"`}
  >
    <label class="choice" for="${id}">
      <input
        type="radio"
        id="${id}"
        name="group"
        value="${group.name}"
        required
        ${flag('checked', group.name === chosen)}
      />
      <span class="key-group-name"
        ><bdi>${group.displayName}</bdi>${
          group.displayName === group.name ? NOTHING : html` <small class="mono"><bdi>${group.name}</bdi></small>`
        }</span
      >
      ${
        group.ratio === ''
          ? NOTHING
          : html`<span class="key-group-ratio" title="Every price is multiplied by ${group.ratio}"
              >× ${group.ratio}</span
            >`
      }
    </label>
    ${group.warning === undefined ? NOTHING : html`<p class="key-group-note warn">${group.warning}</p>`}${
      group.onlyIn === undefined
        ? NOTHING
        : html`<p class="key-group-note key-group-only">Only for keys of ${group.onlyIn.join(', ')}.</p>`
    }${renderGroupModels(group)}
  </div>`;
}

function renderGroupModels({ models, warning }: GroupChoice): Html {
  if (models.length === 0)
    return warning === undefined
      ? html`<p class="key-group-note">No model can be called through it at the moment.</p>`
      : NOTHING;
  const few = models.length <= MODELS_SHOWN + 1;
  const names = (list: readonly string[]): Html =>
    html`<ul class="tags">
      ${list.map((name) => html`<li class="badge"><bdi>${name}</bdi></li>`)}
    </ul>`;
  if (few) return html`<div class="key-group-note">${names(models)}</div>`;
  return html`<div class="key-group-note">
    ${names(models.slice(0, MODELS_SHOWN))}
    <details class="fold">
      <summary>${pluralize(models.length - MODELS_SHOWN, 'more model')}</summary>
      ${names(models.slice(MODELS_SHOWN))}
    </details>
  </div>`;
}

/** Boxes to tick for the models of the groups that can be chosen, or lines to type in where they are not known. */
function renderModels(view: KeyFormView): Html {
  const { form, errors, groups, others } = view;
  const radio = (value: string, label: string, on: boolean): Html =>
    html`<label class="choice">
      <input type="radio" name="allowed" value="${value}" ${flag('checked', on)} />
      <span>${label}</span>
    </label>`;
  const known = groups.some(({ models }) => models.length > 0);
  return html`<fieldset
    class="choices key-models"
    id="${fieldId('models')}"
    tabindex="-1"
    ${describedBy('models', errors, false)}
  >
    <legend>Models</legend>
    ${radio('All', 'All models of the group, including later ones', !form.restricted)}
    ${radio('Some', 'Only these', form.restricted)}
    <div class="key-models-more">${known ? renderBoxes(view, groups) : renderLines(view)}</div>
    ${changedMeanwhile('models', others)} ${renderErrors('models', errors)}
  </fieldset>`;
}

/** Names that the key lists although no group has them are shown too, ticked. */
function renderBoxes({ form }: KeyFormView, groups: readonly GroupChoice[]): Html {
  const holders = new Map<string, string[]>();
  for (const { name, models } of groups)
    for (const model of models) holders.set(model, [...(holders.get(model) ?? []), name]);
  const names = [...new Set([...holders.keys(), ...form.models])].sort();
  const single = groups.length === 1;
  return html`<div class="key-model-list" role="group" aria-label="Models that this key may call">
    ${names.map((name) => {
      const groupNames = holders.get(name);
      const note = groupNames === undefined ? 'in none of these groups' : groupNames.join(', ');
      return html`<label class="choice" data-groups="${(groupNames ?? []).join(' ')}">
        <input type="checkbox" name="model" value="${name}" ${flag('checked', form.models.includes(name))} />
        <span
          ><bdi class="mono">${name}</bdi>${
            single && groupNames !== undefined ? NOTHING : html` <small class="key-model-groups">${note}</small>`
          }</span
        >
      </label>`;
    })}
  </div>`;
}

function renderLines({ form, errors }: KeyFormView): Html {
  return html`<div class="field">
    <label for="models-text" class="vh">Models, one per line</label>
    ${renderHint('models', 'One name per line, exactly as the price page has them.')}
    <textarea
      id="models-text"
      name="models"
      rows="4"
      class="mono"
      spellcheck="false"
      autocapitalize="off"
      ${describedBy('models', errors, true)}
    >
${preformatted(form.models.join('\n'))}</textarea>
  </div>`;
}
