/** A key's deletion: the page asks first for the key's name. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { renderTime, renderUsd } from '#web/format.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { factsOf } from '../queries/key-facts.ts';
import { requestedKey, requestedKeyWithUid, renderHeadOf } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { formText, OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { errorSummary, textField } from '../components/field.ts';
import type { FieldFault } from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import type { Backend } from '../components/missing-right.ts';
import { keyPath } from '../paths.ts';
import { notice } from '../components/notice.ts';
import { facts } from '../components/facts.ts';

const PATH = '/keys/:namespace/:name/delete';
const DELETE_FORM = Type.Object({
  uid: formText(),
  /** The key's name, typed once more. */
  confirm: formText(),
});

export const keyDeleteRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: PATH,
    params: OBJECT,
    handle: async (request) => deletePage(request, await requestedKey(request)),
  }),
  route({ method: 'POST', path: PATH, params: OBJECT, form: DELETE_FORM, handle: deleteKey }),
];

/** The page that asks for the key's name. */
function deletePage(
  { csrf, deps }: Pick<PageRequest, 'csrf' | 'deps'>,
  apiKey: ApiKey,
  returned?: {
    readonly typed: string;
    readonly errors: readonly DeleteFault[];
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
async function deleteKey(
  request: KeyRequest & PageRequest<{ readonly form: typeof DELETE_FORM }>,
): Promise<HandlerResult> {
  const { form, person } = request;
  const live = await requestedKeyWithUid(request, form.uid ?? '');
  const { namespace, name, uid = '' } = live.metadata;
  const typed = (form.confirm ?? '').trim();
  if (typed !== name)
    return deletePage(request, live, {
      typed,
      errors: [{ field: 'confirm', message: `Type ${name}, exactly as it stands here. Nothing was deleted.` }],
    });
  await person.remove('ApiKey', { namespace, name }, uid);
  return { redirect: `/keys?deleted=${encodeURIComponent(`${namespace}/${name}`)}` };
}

type DeleteFault = FieldFault<'confirm'>;

interface DeleteView {
  readonly apiKey: ApiKey;
  readonly typed: string;
  readonly errors: readonly DeleteFault[];
  readonly csrf: string;
  /** A folder knows keys by their names only. */
  readonly backend: Backend;
}

/** The whole page. */
function renderDelete({ apiKey, typed, errors, csrf, backend }: DeleteView): Html {
  const { name, uid } = apiKey.metadata;
  const warning = notice(
    [
      html`<b>Calls with this key fail from now on, and nothing brings it back.</b>`,
      html`${
          backend === 'Kubernetes'
            ? 'A new key of the same name is another key, with spending of its own.'
            : 'A new key of the same name has another text, and goes on with the spending of this one.'
        }
        What this one has spent stays in its account's records. To stop it only for a while,
        <a href="${keyPath(apiKey, 'settings')}">disable it</a>.`,
    ],
    { tone: 'bad' },
  );
  return html`${renderHeadOf(apiKey, html`Delete <bdi>${name}</bdi>`, 'Delete')} ${errorSummary(errors, () => 'Name')}
  ${postForm(
    { id: 'delete-form', action: keyPath(apiKey, 'delete'), csrf, hidden: { uid: uid ?? '' } },
    html`${warning} ${renderLosses(apiKey)}
    ${textField({
      field: 'confirm',
      label: html`Type <b class="mono">${name}</b> to delete it`,
      value: typed,
      errors,
      attributes: html`type="text" required autocomplete="off" autocapitalize="off" spellcheck="false"`,
    })}
    ${formActions({ submit: 'Delete this key', tone: 'primary danger', cancel: keyPath(apiKey) })}`,
  )}`;
}

/** Facts that show whether the key is still in use. */
function renderLosses(apiKey: ApiKey): Html {
  const { spec, status } = apiKey;
  const { lastUsedMs, totalSpentNanoUsd } = factsOf(apiKey);
  return facts([
    ['Key', status?.keyPrefix === undefined ? 'Not made yet' : html`<code>${status.keyPrefix}…</code>`],
    ['Spent in total', html`${renderUsd(totalSpentNanoUsd)} of the account <bdi>${spec.accountRef.name}</bdi>`],
    ['Last used', lastUsedMs === undefined ? 'Never' : renderTime(lastUsedMs, 'minute')],
    ['Secret', spec.key.type === 'Generated' ? 'Goes with it' : undefined],
  ]);
}
