/** How programs use a key: the gateway's address, and first calls for a model of the key, with the key as $MGW_KEY. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderSnippets } from '#web/pricing/model-page.ts';
import { EXAMPLE_MODEL, EXAMPLE_URL, snippetsOf, toolSnippetsOf } from '#web/snippets.ts';
import { namespacedName } from '#objects/resources.ts';
import { callableModels } from '../queries/callable-models.ts';
import type { CallableModel } from '../queries/callable-models.ts';
import { DONE_QUERY, keyTabPage } from './tabs.ts';
import { requestedKey } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { withParameters, keyPath } from '../paths.ts';
import { selectField } from '../components/field.ts';
import { choiceForm } from '../components/form.ts';
import { notice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import { facts } from '../components/facts.ts';

const USE_QUERY = Type.Object({ ...DONE_QUERY.properties, model: queryText() });

export const keyUseRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/keys/:namespace/:name/use', params: OBJECT, query: USE_QUERY, handle: showUse }),
];

async function showUse(
  request: KeyRequest & PageRequest<{ readonly query: typeof USE_QUERY }>,
): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const models = callableModels(request.deps, apiKey);
  const chosen = models.find(({ model }) => model === request.query.model) ?? models[0];
  const body = renderUse({ apiKey, models, chosen, gatewayUrl: request.deps.gatewayUrl });
  return keyTabPage(request, apiKey, { tab: 'use', body, scripts: ['copy.js', 'key-use.js'] });
}

interface UseView {
  readonly apiKey: ApiKey;
  readonly models: readonly CallableModel[];
  /** undefined: the key can call none. */
  readonly chosen: CallableModel | undefined;
  /** undefined: not configured. */
  readonly gatewayUrl: string | undefined;
}

function renderUse({ apiKey, models, chosen, gatewayUrl }: UseView): Html {
  const url = (gatewayUrl ?? EXAMPLE_URL).replace(/\/+$/, '');
  const call = chosen ?? { model: EXAMPLE_MODEL, endpoint: 'Chat' };
  const snippets = [
    ...snippetsOf({ url, ...call }),
    ...(call.endpoint === 'Chat' ? toolSnippetsOf({ url, model: call.model }) : []),
  ];
  return html`<section aria-labelledby="addresses">
      <h2 id="addresses">Base URL</h2>
      ${
        gatewayUrl === undefined
          ? html`<p class="hint" id="placeholders">
              <code>${EXAMPLE_URL}</code> stands for the gateway's address, which this console was not told.
            </p>`
          : NOTHING
      }
      ${facts(
        [
          ['OpenAI SDKs', renderUrl('openai', 'OpenAI SDKs', `${url}/v1`)],
          ['Anthropic SDKs', renderUrl('anthropic', 'Anthropic SDKs', url)],
        ],
        'key-urls',
      )}
      <p class="hint">
        The key itself is shown only once, right after it was made. Keep it in the environment variable
        <code>MGW_KEY</code>: every example below reads it from there.
      </p>
    </section>
    ${section(
      { id: 'examples', title: 'Examples' },
      html`${
          models.length === 0
            ? notice('This key can call no model at the moment: its group has none that is priced and served.')
            : renderModelPicker(apiKey, models, call.model)
        }
        <div id="use-snippets">${renderSnippets(snippets)}</div>`,
    )}`;
}

function renderUrl(id: string, label: string, url: string): Html {
  return html`<div class="row">
    <code id="url-${id}">${url}</code>
    <button type="button" class="button small" data-copy="url-${id}" hidden>
      Copy<span class="vh"> the base URL for ${label}</span>
    </button>
  </div>`;
}

function renderModelPicker(apiKey: ApiKey, models: readonly CallableModel[], chosen: string): Html {
  const playground = withParameters('/playground', { key: namespacedName(apiKey.metadata), model: chosen });
  return choiceForm(
    {
      action: keyPath(apiKey, 'use'),
      id: 'use-model',
      style: 'key-use-model',
      button: 'Show',
      others: html`<a class="button" href="${playground}">Open in playground</a>`,
    },
    selectField({
      field: 'model',
      label: 'Model',
      value: chosen,
      errors: [],
      options: models.map(({ model }) => ({ value: model, label: model })),
      short: false,
    }),
  );
}
