/** [P] The page of one key: its form, and beside it what the gateway says about it. */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { formOfKey } from '../forms/api-key.ts';
import { EDIT_ROWS, writeBase } from '../forms/key-changes.ts';
import type { OthersChange } from '../forms/key-changes.ts';
import { csrfField } from './csrf-field.ts';
import { errorSummary } from './form-fields.ts';
import { renderKeyFacts } from './key-at-a-glance.ts';
import { renderKeyFields } from './key-form.ts';
import { FIELD_LABELS } from './key-form-view.ts';
import type { KeyFormView } from './key-form-view.ts';
import { keyPath } from './key-links.ts';
import { renderKeyHead } from './key-page.ts';
import { missingRight } from './rights-words.ts';
import type { Place } from './rights-words.ts';

interface EditKeyView extends KeyFormView {
  /** As it is now: what the form is sent on top of. */
  readonly apiKey: ApiKey;
  readonly csrf: string;
  readonly mayChange: boolean;
  readonly mayDelete: boolean;
  readonly place: Place;
  /** The form comes back because somebody else was faster. */
  readonly conflict: boolean;
  readonly done: string | undefined;
  readonly nowMs: number;
}

/** The whole page. */
export function renderEditKey(view: EditKeyView): Html {
  const { apiKey, faults, conflict, done } = view;
  const { namespace, name } = apiKey.metadata;
  return html`${renderKeyHead({ title: html`<bdi>${name}</bdi>`, here: name, lede: html`API key in the namespace <bdi>${namespace}</bdi>`, actions: renderActions(view) })}
${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
${conflict ? renderConflict(view) : errorSummary(faults, (field) => FIELD_LABELS[field])}
<div class="split key-split"><section aria-label="Settings">${renderForm(view)}</section>
<aside class="card" aria-labelledby="glance">${renderKeyFacts(apiKey, view.nowMs)}</aside></div>`;
}

function renderActions({ apiKey, mayChange, mayDelete }: EditKeyView): Html {
  return html`<div class="actions">${mayChange && apiKey.spec.key.type === 'Generated' ? html`<a class="button" href="${keyPath(apiKey, 'rotate')}">Rotate</a>` : NOTHING}\
${mayDelete ? html`<a class="button danger" href="${keyPath(apiKey, 'delete')}">Delete</a>` : NOTHING}</div>`;
}

function renderForm(view: EditKeyView): Html {
  const { apiKey, csrf, mayChange, conflict } = view;
  return html`${mayChange ? NOTHING : html`<div class="notice" id="read-only"><p>You may look at this key, but not change it. ${missingRight(view.place, 'patch', apiKey.metadata.namespace)}</p></div>`}
<form class="form key-form" id="key-form" method="post" action="${keyPath(apiKey)}">${csrfField(csrf)}\
<input type="hidden" name="uid" value="${apiKey.metadata.uid ?? ''}"><input type="hidden" name="generation" value="${apiKey.metadata.generation ?? 0}">\
<input type="hidden" name="base" value="${writeBase(formOfKey(apiKey))}">
<fieldset class="form key-fields"${flag('disabled', !mayChange)}><legend class="vh">Settings of the key</legend>
${renderKeyFields(view)}
${mayChange ? html`<div class="form-actions"><button type="submit" class="button primary">${conflict ? 'Apply on top of the new state' : 'Save'}</button>\
<a class="button" href="${keyPath(apiKey)}">${conflict ? 'Discard what I typed' : 'Undo changes'}</a></div>` : NOTHING}
</fieldset></form>`;
}

/** What they made of it, field by field, beside what was typed. */
function renderConflict({ others }: EditKeyView): Html {
  const clash = others.some(({ typed }) => typed !== undefined);
  return html`<section class="notice warn key-conflict" role="alert" id="conflict" aria-labelledby="conflict-title"><h2 id="conflict-title">Somebody else has changed this key meanwhile</h2>
${others.length === 0
    ? html`<p>None of the fields below has changed. Nothing of yours is saved yet: look once more, and send the form again.</p>`
    : html`<p>Nothing of yours is saved yet. The form shows their changes; ${clash ? 'where you both typed, it keeps yours.' : 'what you typed stands on top of them.'}</p>
<div class="table-box" tabindex="0" role="region" aria-label="What has changed"><table class="table"><caption class="vh">What has changed</caption><thead><tr><th scope="col">Field</th><th scope="col">It was</th><th scope="col">They made it</th><th scope="col">You typed</th></tr></thead>
<tbody>${others.map(renderChange)}</tbody></table></div>`}</section>`;
}

function renderChange({ field, was, now, typed }: OthersChange): Html {
  return html`<tr data-field="${field}"><th scope="row">${EDIT_ROWS[field].label}</th><td class="wrap">${was ?? html`<span class="soft">Unknown</span>`}</td>\
<td class="wrap">${now}</td><td class="wrap">${typed ?? html`<span class="soft">Nothing</span>`}</td></tr>`;
}
