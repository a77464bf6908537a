/** A key's deletion: the page asks first for the key's name. */
import type { ApiKey } from '#crds/types.gen.ts';
import { renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { FormError } from './api-key.ts';
import { factsOf } from '../queries/key-facts.ts';
import { FIELD_LABELS } from './key-form.ts';
import { renderKeyHead, requestedKey, requestedKeyWithUid } from './requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { errorSummary, textField } from '../components/field.ts';
import { csrfField } from '../components/form.ts';
import type { Backend } from '../components/form.ts';
import { keyPath } from '../paths.ts';

export const keyDeleteRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/keys/:namespace/:name/delete',
    handle: async (request) => deletePage(request, await requestedKey(request)),
  },
  { method: 'POST', path: '/keys/:namespace/:name/delete', handle: deleteKey },
];

/** The page that asks for the key's name. */
function deletePage(
  { csrf, deps }: PageRequest,
  apiKey: ApiKey,
  returned?: {
    readonly typed: string;
    readonly errors: readonly FormError[];
  },
): HandlerResult {
  const body = renderDelete({
    apiKey,
    csrf,
    backend: deps.access.backend,
    typed: returned?.typed ?? '',
    errors: returned?.errors ?? [],
  });
  return {
    page: {
      title: `Delete ${apiKey.metadata.name}`,
      active: 'keys',
      body,

      styles: ['keys.css'],
    },
    status: returned === undefined ? 200 : 422,
  };
}

/** Deletes the key only if its name was typed, and only the object that was shown. */
async function deleteKey(request: PageRequest): Promise<HandlerResult> {
  const { form, person } = request;
  const live = await requestedKeyWithUid(request, form.get('uid') ?? '');
  const { namespace, name, uid = '' } = live.metadata;
  const typed = (form.get('confirm') ?? '').trim();
  if (typed !== name)
    return deletePage(request, live, {
      typed,
      errors: [{ field: 'confirm', message: `Type ${name}, exactly as it stands here. Nothing was deleted.` }],
    });
  await person.remove('ApiKey', { namespace, name }, uid);
  return { redirect: `/keys?deleted=${encodeURIComponent(`${namespace}/${name}`)}` };
}

interface DeleteView {
  readonly apiKey: ApiKey;
  readonly typed: string;
  readonly errors: readonly FormError[];
  readonly csrf: string;
  /** A folder knows keys by their names only. */
  readonly backend: Backend;
}

/** The whole page. */
function renderDelete({ apiKey, typed, errors, csrf, backend }: DeleteView): Html {
  const { namespace, name, uid } = apiKey.metadata;
  return html`${renderKeyHead({
      title: html`Delete <bdi>${name}</bdi>`,
      here: 'Delete',
      above: {
        path: keyPath(apiKey),
        label: name,
      },
      lede: html`API key in the namespace <bdi>${namespace}</bdi>`,
    })}
    ${errorSummary(errors, (field) => FIELD_LABELS[field])}
    <form class="form" id="delete-form" method="post" action="${keyPath(apiKey, 'delete')}">
      ${csrfField(csrf)}
      <input type="hidden" name="uid" value="${uid ?? ''}" />
      <div class="notice bad">
        <p><b>Calls with this key fail from now on, and nothing brings it back.</b></p>
        <p>
          ${
            backend === 'Kubernetes'
              ? 'A new key of the same name is another key, with spending of its own.'
              : 'A new key of the same name has another text, and goes on with the spending of this one.'
          }
          What this one has spent stays in its account's records. To stop it only for a while,
          <a href="${keyPath(apiKey, 'settings')}">disable it</a>.
        </p>
      </div>
      ${renderLosses(apiKey)}
      ${textField({
        field: 'confirm',
        label: html`Type <b class="mono">${name}</b> to delete it`,
        value: typed,
        errors,
        attributes: html`type="text" required autocomplete="off" autocapitalize="off" spellcheck="false"`,
      })}
      <div class="form-actions">
        <button type="submit" class="button primary danger">Delete this key</button>
        <a class="button" href="${keyPath(apiKey)}">Cancel</a>
      </div>
    </form>`;
}

/** Facts that show whether the key is still in use. */
function renderLosses(apiKey: ApiKey): Html {
  const { spec, status } = apiKey;
  const { lastUsedMs, totalSpentNanoUsd } = factsOf(apiKey);
  return html`<dl class="facts">
    <dt>Key</dt>
    <dd>${status?.keyPrefix === undefined ? 'Not made yet' : html`<code>${status.keyPrefix}…</code>`}</dd>
    <dt>Spent in total</dt>
    <dd>${renderUsd(totalSpentNanoUsd)} of the account <bdi>${spec.accountRef.name}</bdi></dd>
    <dt>Last used</dt>
    <dd>${lastUsedMs === undefined ? 'Never' : renderTime(lastUsedMs, 'minute')}</dd>
    ${
      spec.key.type === 'Generated'
        ? html`<dt>Secret</dt>
            <dd>Goes with it</dd>`
        : NOTHING
    }
  </dl>`;
}
