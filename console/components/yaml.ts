/** A key, group or route as YAML to copy: what a person may read, without status and without what the server adds. */
import type { Kind } from '#crds/types.gen.ts';
import { html, preformatted } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import { manifestOf } from '../queries/manifest.ts';
import type { ConsoleRoute, HandlerResult, NavigationItem, PageRequest } from '../route.ts';
import { pageHead } from './page.ts';

interface YamlPage {
  readonly kind: Kind;
  readonly active: NavigationItem;
  /** Of the page above. */
  readonly label: string;
  readonly path: string;
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** The handler of such a page. */
export function showYaml({ kind, active, label, path }: YamlPage): ConsoleRoute['handle'] {
  return async (request): Promise<HandlerResult> => {
    const ref = refOf(request);
    const object = NAME.test(ref.name) && NAME.test(ref.namespace) ? await request.person.get(kind, ref) : undefined;
    if (!object) throw new AccessError('NotFound', `There is no ${kind} ${ref.namespace}/${ref.name}.`);
    const body = html`${pageHead({
        above: [{ path, label }],
        title: html`<bdi>${ref.name}</bdi>`,
        here: 'YAML',
        lede: html`${kind} in the namespace <bdi>${ref.namespace}</bdi>, without its status. Keys and credentials are in
          Secrets and never part of it.`,
      })}
      <div class="snippet-head">
        <h2 id="yaml-title">YAML</h2>
        <button type="button" class="button small" data-copy="yaml" hidden>
          Copy<span class="vh"> the YAML</span>
        </button>
      </div>
      <pre
        class="code"
        tabindex="0"
        role="region"
        aria-labelledby="yaml-title"
      ><code id="yaml">${preformatted(manifestOf(object))}</code></pre>`;
    return { page: { title: `${ref.name} · ${kind}`, active, body, scripts: ['copy.js'] } };
  };
}

function refOf({ params, deps }: PageRequest): ObjectRef {
  return { namespace: params['namespace'] ?? deps.gatewayNamespace, name: params['name'] ?? '' };
}
