/** [P] Resolves references: checks that the target exists and may be used. */
import type { GroupRoute, ModelRoute, ModelRouteChannel } from '#crds/types.gen.ts';
import type { Finding } from '../status/findings.ts';
import { findSecret, namespacedName } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { matchesSelector } from '#objects/selectors.ts';

/** A channel's credential; `value` is absent if the provider needs none. */
export type ChannelCredential =
  | { readonly found: true; readonly value?: string }
  | { readonly found: false; readonly finding: Finding<'SecretNotFound' | 'SecretInvalid'> };

/** The known Secrets, and why others cannot be read. */
export type SecretLookup = Pick<Resources, 'secrets' | 'unreadable'>;

/** Characters allowed in a header's value. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

/** Looks a channel's credential up in the Secrets of its namespace. */
export function findCredential(
  { secrets, unreadable }: SecretLookup,
  namespace: string,
  { auth }: ModelRouteChannel,
): ChannelCredential {
  const ref = auth?.secretRef;
  if (!ref) return { found: true };
  const id = { namespace, name: ref.name };
  const secret = findSecret(secrets, id);
  const problem = unreadable?.get(namespacedName(id));
  if (!secret)
    return notFound(
      'SecretNotFound',
      problem === undefined
        ? `the Secret "${ref.name}" does not exist in ${namespace}.`
        : `the Secret "${ref.name}" cannot be read: ${problem}.`,
    );
  return auth.type === 'AwsSigV4' ? findAccessKey(ref.name, secret.data) : readEntry(auth.type, ref, secret.data);
}

function readEntry(
  type: 'ApiKey' | 'GoogleOAuth' | 'AzureEntra',
  ref: { name: string; key: string },
  data: ReadonlyMap<string, string>,
): ChannelCredential {
  // editors and `echo` end a file with a line break, which no provider's key has
  const value = data.get(ref.key)?.replace(/\r?\n$/, '');
  if (value === undefined) return notFound('SecretInvalid', `the Secret "${ref.name}" has no entry "${ref.key}".`);
  if (value === '') return notFound('SecretInvalid', `the entry "${ref.key}" of the Secret "${ref.name}" is empty.`);
  if (type === 'GoogleOAuth') return checkServiceAccount(ref, value);
  if (!HEADER_VALUE.test(value))
    return notFound(
      'SecretInvalid',
      `the entry "${ref.key}" of the Secret "${ref.name}" has spaces, line breaks or other characters that are ` +
        'not valid in a header.',
    );
  return { found: true, value };
}

const ACCESS_KEY_ENTRIES = ['accessKeyId', 'secretAccessKey', 'sessionToken'] as const;

/** Encodes the access key as JSON, because a credential is one value. */
function findAccessKey(name: string, data: ReadonlyMap<string, string>): ChannelCredential {
  const entries = ACCESS_KEY_ENTRIES.map((entry) => [entry, data.get(entry)?.trim()] as const);
  for (const [entry, value] of entries) {
    if (entry === 'sessionToken' && value === undefined) continue;
    if (value === undefined || value === '')
      return notFound('SecretInvalid', `the Secret "${name}" has no entry "${entry}", or it is empty.`);
    if (!HEADER_VALUE.test(value))
      return notFound(
        'SecretInvalid',
        `the entry "${entry}" of the Secret "${name}" has spaces or other characters that are not valid in an ` +
          'access key.',
      );
  }
  return { found: true, value: JSON.stringify(Object.fromEntries(entries)) };
}

const SERVICE_ACCOUNT_MEMBERS = ['client_email', 'private_key', 'token_uri'];

function checkServiceAccount({ name, key }: { name: string; key: string }, value: string): ChannelCredential {
  const account = parseJson(value);
  const missing = SERVICE_ACCOUNT_MEMBERS.filter((member) => typeof account?.[member] !== 'string');
  if (missing.length === 0) return { found: true, value };
  return notFound(
    'SecretInvalid',
    `the entry "${key}" of the Secret "${name}" is not the JSON file of a Google ` +
      `service account: ${missing.join(', ')} missing.`,
  );
}

function parseJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** The inputs of findCredential for a route, for memoization. */
export function secretsNamedBy({ metadata, spec }: ModelRoute, { secrets, unreadable }: SecretLookup): unknown[] {
  return spec.channels.flatMap(({ auth }) => {
    if (!auth?.secretRef) return [];
    const id = { namespace: metadata.namespace, name: auth.secretRef.name };
    return [findSecret(secrets, id), unreadable?.get(namespacedName(id))];
  });
}

/** The ModelRoutes that an entry of a Direct group selects, in the order given. */
export function selectRoutes({ routeRef, routeSelector }: GroupRoute, routes: readonly ModelRoute[]): ModelRoute[] {
  if (routeRef) return routes.filter(({ metadata }) => metadata.name === routeRef.name);
  if (!routeSelector) return [];
  return routes.filter(({ metadata }) => matchesSelector(routeSelector, metadata.labels ?? {}));
}

function notFound(reason: 'SecretNotFound' | 'SecretInvalid', message: string): ChannelCredential {
  return { found: false, finding: { reason, message } };
}
