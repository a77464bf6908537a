/** The settings of a key: its form. An edit is compared with what the object has become meanwhile. */
import type { ApiKey } from '#crds/types.gen.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import {
  errorsOfFields,
  errorsOfRefusal,
  formOfKey,
  MODEL_BOXES,
  readKeyForm,
  specOfForm,
  withoutFaults,
} from '../forms/api-key.ts';
import type { FormError, KeyField, KeyForm } from '../forms/api-key.ts';
import { EDIT_ROWS, mergeForms, patchOfForm, readBase, writeBase } from '../forms/key-changes.ts';
import type { Merged, ConcurrentChange } from '../forms/key-changes.ts';
import { groupsOfNamespace } from '../keys/key-choices.ts';
import { FIELD_LABELS, renderKeyFields } from '../keys/key-form.ts';
import type { KeyFormView } from '../keys/key-form.ts';
import { keyTabPage } from '../keys/key-tabs.ts';
import { changeKey, keyPath, requestedKey, requestedKeyWithUid } from '../keys/requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { schemaFaults } from '../forms/schema-faults.ts';
import { errorSummary } from '../views/form-fields.ts';
import { csrfField, renderMissingRight } from '../views/fragments.ts';
import type { Backend } from '../views/fragments.ts';
import { RATE_FIELDS } from '../views/rate-limits.ts';

export const keySettingsRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/:namespace/:name/settings', handle: openKey },
  { method: 'POST', path: '/keys/:namespace/:name/settings', repeated: MODEL_BOXES, handle: saveKey },
];

/** The controls of the edit form that can show an error. */
const CONTROLS: readonly KeyField[] = [
  'enabled',
  'group',
  'limitUsd',
  'period',
  'timeZone',
  'whenShort',
  'expires',
  'models',
  'maxConcurrency',
  ...RATE_FIELDS,
];

/** What the form shows. */
interface Shown {
  readonly form: KeyForm;
  readonly errors: readonly FormError[];
  /** Present: somebody else has changed the key meanwhile. */
  readonly others?: Merged['others'];
  readonly status: number;
  /** What was just done. */
  readonly done?: string | undefined;
}

/** The tab with the form. */
async function keyPage(request: PageRequest, apiKey: ApiKey, returned: Shown): Promise<HandlerResult> {
  const { person, csrf, deps } = request;
  const { namespace, name } = apiKey.metadata;
  const groups = groupsOfNamespace(request, namespace, apiKey.spec.groupRef.name);
  const mayChange = await person.may('patch', 'ApiKey', { namespace, name });
  const body = renderEditKey({
    apiKey,
    groups,
    csrf,
    mayChange,
    backend: deps.access.backend,
    form: returned.form,
    errors: returned.errors,
    others: returned.others ?? [],
    conflict: returned.others !== undefined,
    done: returned.done,
  });
  return keyTabPage(request, apiKey, { tab: 'settings', body, scripts: ['key-form.js'], status: returned.status });
}

/** Saves what was posted, or shows the form again with the errors. */
async function saveKey(request: PageRequest): Promise<HandlerResult> {
  const { form: posted } = request;
  const live = await requestedKeyWithUid(request, posted.get('uid') ?? '');
  const typed = { ...readKeyForm(posted), ...fixedParts(live) };
  if (String(live.metadata.generation ?? 0) !== posted.get('generation')) return conflictPage(request, live, typed);
  const { value: spec, errors } = patchOfForm(typed, live);
  if (errors) {
    const faults = allFaults(request, live, { typed, own: errors });
    return keyPage(request, live, { form: typed, errors: faults, status: 422 });
  }
  if (spec === undefined) return { redirect: `${keyPath(live, 'settings')}?done=saved` };
  try {
    await changeKey(request, live, spec);
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return refusedPage(request, { live, typed, error });
  }
  const switchedOff = live.spec.enabled && !typed.enabled;
  return { redirect: `${keyPath(live, 'settings')}?done=${switchedOff ? 'off' : 'saved'}` };
}

/** With what the API would refuse beside it. */
function allFaults(
  { deps }: PageRequest,
  { metadata, spec }: ApiKey,
  { typed, own }: { readonly typed: KeyForm; readonly own: readonly FormError[] },
): FormError[] {
  const { value } = specOfForm(withoutFaults(typed, own), spec.gatewayNamespace);
  const refused = value
    ? errorsOfFields(schemaFaults(deps.schemas, 'ApiKey', { ...metadata, spec: value }), CONTROLS)
    : [];
  return [...own, ...refused.filter(({ field }) => field !== undefined && own.every((each) => each.field !== field))];
}

async function refusedPage(
  request: PageRequest,
  { live, typed, error }: { readonly live: ApiKey; readonly typed: KeyForm; readonly error: AccessError },
): Promise<HandlerResult> {
  if (error.reason === 'Conflict')
    return conflictPage(request, await requestedKeyWithUid(request, live.metadata.uid ?? ''), typed);
  if (error.reason !== 'Invalid' && error.reason !== 'Forbidden') throw error;
  return keyPage(request, live, {
    form: typed,
    errors: errorsOfRefusal(error, CONTROLS),
    status: error.reason === 'Invalid' ? 422 : 403,
  });
}

/** Saves nothing: shows the form again, applied to the object as it is now. */
function conflictPage(request: PageRequest, live: ApiKey, typed: KeyForm): Promise<HandlerResult> {
  const { form, others } = mergeForms(readBase(request.form.get('base') ?? ''), typed, formOfKey(live));
  return keyPage(request, live, { form, errors: [], others, status: 409 });
}

/** What an edit cannot change, whatever is posted. */
function fixedParts(live: ApiKey): Pick<KeyForm, 'namespace' | 'name' | 'account' | 'keyType' | 'secret'> {
  const { namespace, name, account, keyType, secret } = formOfKey(live);
  return { namespace, name, account, keyType, secret };
}

/** The page as it is. */
async function openKey(request: PageRequest): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const done =
    request.query.get('done') === 'saved' ? 'Saved. It is in force on all proxies within seconds.' : undefined;
  return keyPage(request, apiKey, { form: formOfKey(apiKey), errors: [], status: 200, done });
}

interface EditKeyView extends KeyFormView {
  /** The current object, which the form's changes are applied to. */
  readonly apiKey: ApiKey;
  readonly csrf: string;
  readonly mayChange: boolean;
  readonly backend: Backend;
  /** The form is shown again because somebody else has changed the key meanwhile. */
  readonly conflict: boolean;
  readonly done: string | undefined;
}

/** Below the tabs. */
function renderEditKey(view: EditKeyView): Html {
  const { errors, conflict, done } = view;
  return html`${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
    ${conflict ? renderConflict(view) : errorSummary(errors, (field) => FIELD_LABELS[field])}
    <section aria-label="Settings">${renderForm(view)}</section>`;
}

function renderForm(view: EditKeyView): Html {
  const { apiKey, csrf, mayChange, conflict } = view;
  return html`${
      mayChange
        ? NOTHING
        : html`<div class="notice" id="read-only">
            <p>
              You may look at this key, but not change it.
              ${renderMissingRight(view.backend, 'patch', apiKey.metadata.namespace)}
            </p>
          </div>`
    }
    <form class="form key-form" id="key-form" method="post" action="${keyPath(apiKey, 'settings')}">
      ${csrfField(csrf)}
      <input type="hidden" name="uid" value="${apiKey.metadata.uid ?? ''}" />
      <input type="hidden" name="generation" value="${apiKey.metadata.generation ?? 0}" />
      <input type="hidden" name="base" value="${writeBase(formOfKey(apiKey))}" />
      <fieldset class="form key-fields" ${flag('disabled', !mayChange)}>
        <legend class="vh">Settings of the key</legend>
        ${renderKeyFields(view)}
        ${
          mayChange
            ? html`<div class="form-actions">
                <button type="submit" class="button primary">
                  ${conflict ? 'Apply on top of the new state' : 'Save'}
                </button>
                <a class="button" href="${keyPath(apiKey, 'settings')}"
                  >${conflict ? 'Discard what I typed' : 'Undo changes'}</a
                >
              </div>`
            : NOTHING
        }
      </fieldset>
    </form>`;
}

/** The other person's changes, field by field, beside what was typed. */
function renderConflict({ others }: EditKeyView): Html {
  const clash = others.some(({ typed }) => typed !== undefined);
  return html`<section class="notice warn key-conflict" role="alert" id="conflict" aria-labelledby="conflict-title">
    <h2 id="conflict-title">Somebody else has changed this key meanwhile</h2>
    ${
      others.length === 0
        ? html`<p>
            None of the fields below has changed. Nothing of yours is saved yet: look once more, and send the form
            again.
          </p>`
        : html`<p>
              Nothing of yours is saved yet. The form shows their changes;
              ${clash ? 'where you both typed, it keeps yours.' : 'what you typed stands on top of them.'}
            </p>
            <div class="table-box" tabindex="0" role="region" aria-label="What has changed">
              <table class="table">
                <caption class="vh">
                  What has changed
                </caption>
                <thead>
                  <tr>
                    <th scope="col">Field</th>
                    <th scope="col">It was</th>
                    <th scope="col">They made it</th>
                    <th scope="col">You typed</th>
                  </tr>
                </thead>
                <tbody>
                  ${others.map(renderChange)}
                </tbody>
              </table>
            </div>`
    }
  </section>`;
}

function renderChange({ field, was, now, typed }: ConcurrentChange): Html {
  return html`<tr data-field="${field}">
    <th scope="row">${EDIT_ROWS[field].label}</th>
    <td class="wrap">${was ?? html`<span class="soft">Unknown</span>`}</td>
    <td class="wrap">${now}</td>
    <td class="wrap">${typed ?? html`<span class="soft">Nothing</span>`}</td>
  </tr>`;
}
