/** The key that a page's address names, its changes, and the heading of its pages. */
import type { ApiKey } from '#crds/types.gen.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import type { OBJECT } from '../request-schema.ts';
import type { PageRequest } from '../route.ts';
import { pageHead } from '../components/page.ts';
import { keyPath } from '../paths.ts';

/** A request about the key that its path names. */
export type KeyRequest = PageRequest<{ readonly params: typeof OBJECT }>;

/** The key, as the person may see it. Rejects with AccessError (NotFound) where there is none. */
export async function requestedKey(request: KeyRequest): Promise<ApiKey> {
  return readKey(request, request.params);
}

/** The same of a key that something else names. */
export async function readKey({ person, deps }: Pick<PageRequest, 'person' | 'deps'>, ref: ObjectRef): Promise<ApiKey> {
  const apiKey = await person.get('ApiKey', ref);
  if (apiKey === undefined)
    throw new AccessError(
      'NotFound',
      `There is no API key ${ref.name} in the namespace ${ref.namespace}, or it was deleted meanwhile.`,
    );
  const { gatewayNamespace } = apiKey.spec;
  if (gatewayNamespace === deps.gatewayNamespace) return apiKey;
  throw new AccessError(
    'NotFound',
    `The API key ${ref.name} in the namespace ${ref.namespace} belongs to another ` +
      `gateway, the one in ${gatewayNamespace}.`,
  );
}

/** The key that the form refers to. Rejects with AccessError (Conflict) if another key now has its name. */
export async function requestedKeyWithUid(request: KeyRequest, uid: string): Promise<ApiKey> {
  const apiKey = await requestedKey(request);
  if ((apiKey.metadata.uid ?? '') === uid) return apiKey;
  throw new AccessError(
    'Conflict',
    `The API key ${apiKey.metadata.name} that you saw was deleted meanwhile, and ` +
      `another one was created under its name. Nothing was changed.`,
  );
}

/** A change of a key's spec, made only if it is still as it was read. Rejects with AccessError. */
export function changeKey(
  { person }: Pick<PageRequest, 'person'>,
  { metadata: { namespace, name, generation = 0, uid = '' } }: ApiKey,
  spec: unknown,
): Promise<ApiKey> {
  return person.change('ApiKey', { namespace, name }, { generation, uid, patch: { spec } });
}

/** The one form that all switches of a page belong to. */
export const SWITCH_FORM = 'switches';

/** The meaning of a pressed switch: the wanted state, and the object. */
export interface SwitchRequest {
  readonly enabled: boolean;
  readonly uid: string;
}

/** "off 1f0c…" */
export function switchValue({ metadata, spec }: ApiKey): string {
  return `${spec.enabled ? 'off' : 'on'} ${metadata.uid ?? ''}`;
}

/** undefined: no switch posts this. */
export function readSwitchValue(text: string): SwitchRequest | undefined {
  const [, to, uid = ''] = /^(on|off) (\S*)$/.exec(text) ?? [];
  return to === undefined ? undefined : { enabled: to === 'on', uid };
}

interface KeyHead {
  readonly title: Html | string;
  readonly lede?: Html | string;
  /** Between "API keys" and this page. */
  readonly above?: { readonly path: string; readonly label: string };
  readonly here: string;
  readonly actions?: Html;
}

/** The way back, the heading, and what else can be done. */
export function renderKeyHead({ above, ...head }: KeyHead): Html {
  return pageHead({ above: [{ path: '/keys', label: 'API keys' }, ...(above === undefined ? [] : [above])], ...head });
}

/** The head of a page about one key. */
export function renderHeadOf(apiKey: ApiKey, title: Html | string, here: string): Html {
  const { namespace, name } = apiKey.metadata;
  return renderKeyHead({
    title,
    here,
    above: { path: keyPath(apiKey), label: name },
    lede: html`API key in the namespace <bdi>${namespace}</bdi>`,
  });
}
