/**
 * [P] The form of an ApiKey, for a new one and for an edit. What the API would refuse comes back at the field, with what was typed;
 * what somebody else has changed meanwhile stands beside it.
 */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { PERIODS, WHEN_SHORT } from '../forms/api-key.ts';
import { fieldId, faultsAt, hintAt, selectField, textField, tied } from './form-fields.ts';
import { renderGroups } from './key-form-group.ts';
import { renderModels } from './key-form-models.ts';
import { theirs } from './key-form-view.ts';
import type { KeyFormView } from './key-form-view.ts';

const PERIOD_LABELS = { Never: 'Once for all', Daily: 'Every day', Monthly: 'Every month' } as const;
const WHEN_SHORT_LABELS = { Lower: 'Shorten its answer to what can be paid', Refuse: 'Refuse the call' } as const;

/** The fields that new keys and edits share. */
export function renderKeyFields(view: KeyFormView): Html {
  return html`${renderEnabled(view)}
${renderGroups(view)}
${renderModels(view)}
${renderQuota(view)}
${renderExpires(view)}
${renderConcurrency(view)}`;
}

function renderEnabled({ form, faults, others }: KeyFormView): Html {
  return html`<div class="field"><label class="choice key-enabled" for="${fieldId('enabled')}">\
<input type="checkbox" class="switch" role="switch" id="${fieldId('enabled')}" name="enabled" value="true"${flag('checked', form.enabled)}${tied('enabled', faults, true)}>\
<span>Enabled</span></label>
${hintAt('enabled', 'Off, every new call is refused at once; running ones end.')}${theirs('enabled', others)}
${faultsAt('enabled', faults)}</div>`;
}

function renderQuota({ form, faults, others }: KeyFormView): Html {
  const radio = (value: string, label: string, on: boolean): Html => (
    html`<label class="choice"><input type="radio" name="quota" value="${value}"${flag('checked', on)}><span>${label}</span></label>`);
  return html`<fieldset class="choices key-quota" id="key-quota"><legend>Quota</legend>
<p class="hint">What this key may spend, besides what its account has.</p>
${radio('Unlimited', 'Unlimited', !form.limited)}
${radio('Limited', 'A limit in US dollars', form.limited)}
<div class="key-quota-more">
${textField({
    field: 'limitUsd', label: html`<span class="vh">Limit in US dollars</span>`, value: form.limitUsd, faults, prefix: '$', suffix: 'USD', short: true,
    attributes: html` type="text" inputmode="decimal" autocomplete="off" spellcheck="false" placeholder="25.00" maxlength="20"`, below: theirs('limit', others),
  })}
${selectField({ field: 'period', label: 'Begins anew', value: form.period, faults, options: PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] })), hint: 'Days and months are calendar ones, in UTC.', below: theirs('period', others) })}
${selectField({ field: 'whenShort', label: 'When less is left than a call may cost', value: form.whenShort, faults, options: WHEN_SHORT.map((value) => ({ value, label: WHEN_SHORT_LABELS[value] })), short: false, below: theirs('whenShort', others) })}
</div></fieldset>`;
}

/** The control has no zone of its own, so the form says which one it means; a script adds the reader's. */
function renderExpires({ form, faults, others }: KeyFormView): Html {
  const step = /T\d{2}:\d{2}:/.test(form.expires) ? html` step="any"` : NOTHING;
  return textField({
    field: 'expires', label: html`Expires <span class="soft">in UTC</span>`, value: form.expires, faults, short: true, hint: 'From this moment on the key is refused. Empty: it never expires.',
    attributes: html` type="datetime-local" min="1970-01-01T00:00" max="9999-12-31T23:59"${step} data-utc`,
    below: html`<p class="hint" id="expires-here" aria-live="polite"></p>${theirs('expires', others)}`,
  });
}

function renderConcurrency({ form, faults, others }: KeyFormView): Html {
  return textField({
    field: 'maxConcurrency', label: 'Calls at once', value: form.maxConcurrency, faults, short: true, hint: 'How many calls with this key may be running, over all proxies. Empty: any number.',
    attributes: html` type="number" inputmode="numeric" min="1" max="1000000" step="1" placeholder="Any number"`, below: theirs('maxConcurrency', others),
  });
}
