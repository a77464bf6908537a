/** A key, group or route as YAML to copy: what a person may read, without status and without what the server adds. */
import type { Kind } from '#crds/types.gen.ts';
import { html, preformatted } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import { manifestOf } from '../queries/manifest.ts';
import { OBJECT, OWN_OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, NavigationItem, PageRequest } from '../route.ts';
import { pageHead } from './page.ts';

interface YamlPage {
  readonly kind: Kind;
  readonly active: NavigationItem;
  /** Of the page above. */
  readonly label: string;
  readonly path: string;
}

/** The page of an object in a namespace, below its own path. */
export function yamlRoute(page: YamlPage): ConsoleRoute {
  return route({
    method: 'GET',
    path: `${page.path}/:namespace/:name/yaml`,
    params: OBJECT,
    handle: (request) => showYaml(request, request.params, page),
  });
}

/** The same of an object in the gateway's namespace, whose path does not name it. */
export function ownYamlRoute(page: YamlPage): ConsoleRoute {
  return route({
    method: 'GET',
    path: `${page.path}/:name/yaml`,
    params: OWN_OBJECT,
    handle: (request) =>
      showYaml(request, { namespace: request.deps.gatewayNamespace, name: request.params.name }, page),
  });
}

async function showYaml(
  { person }: Pick<PageRequest, 'person'>,
  ref: ObjectRef,
  { kind, active, label, path }: YamlPage,
): Promise<HandlerResult> {
  const object = await person.get(kind, ref);
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
      <button type="button" class="button small" data-copy="yaml" hidden>Copy<span class="vh"> the YAML</span></button>
    </div>
    <pre
      class="code"
      tabindex="0"
      role="region"
      aria-labelledby="yaml-title"
    ><code id="yaml">${preformatted(manifestOf(object))}</code></pre>`;
  return { page: { title: `${ref.name} · ${kind}`, active, body, scripts: ['copy.js'] } };
}
