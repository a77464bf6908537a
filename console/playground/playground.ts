/** The playground: calls with one of a person's keys, which pays for them as for any other call. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import { renderPlayground } from './view.ts';
import { formText, MAX_ID_LENGTH, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { modelsBySecond } from '../queries/price-lists.ts';

const PLAYGROUND_QUERY = Type.Object({
  /** "namespace/name" */
  key: queryText(MAX_ID_LENGTH),
  model: queryText(),
});
const KEY_FORM = Type.Object({
  /** The key itself, pasted; otherwise `ref` is used. */
  key: formText(),
  /** "namespace/name" of a chosen key. */
  ref: formText(),
});
const CALL_FORM = Type.Object({ ...KEY_FORM.properties, path: formText(), body: formText() });
const VIDEO_FORM = Type.Object({
  ...KEY_FORM.properties,
  id: formText(),
  /** "yes": the video itself, and not how far it is. */
  content: formText(),
});
const USAGE_FORM = Type.Object({ ...KEY_FORM.properties, id: formText() });

type KeyedRequest = PageRequest<{ readonly form: typeof KEY_FORM }>;

export const playgroundRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/playground', query: PLAYGROUND_QUERY, handle: showPlayground }),
  route({
    method: 'POST',
    path: '/playground/models',
    form: KEY_FORM,
    handle: (request) => relay(request, () => ({ path: '/v1/models' })),
  }),
  route({
    method: 'POST',
    path: '/playground/calls',
    form: CALL_FORM,
    handle: (request) => relay(request, () => callOf(request.form)),
  }),
  route({
    method: 'POST',
    path: '/playground/videos',
    form: VIDEO_FORM,
    handle: (request) => relay(request, () => videoOf(request.form)),
  }),
  route({
    method: 'POST',
    path: '/playground/usage',
    form: USAGE_FORM,
    handle: (request) => relay(request, () => usageOf(request.form)),
  }),
];

const PATHS: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/responses',
  '/v1/images/generations',
  '/v1/embeddings',
  '/v1/videos',
]);
const VIDEO_ID = /^[\w-]{1,500}$/;
const REQUEST_ID = /^[\w-]{1,100}$/;
/** The characters that the gateway accepts in keys, and more of them than any key has. */
const KEY = /^[\x21-\x7e]{1,512}$/;

async function showPlayground({
  person,
  deps,
  query: { key: asked = '', model = '' },
  csrf,
}: PageRequest<{ readonly query: typeof PLAYGROUND_QUERY }>): Promise<HandlerResult> {
  const { objects } = await person.list('ApiKey');
  const keys = objects
    .filter(({ spec }) => spec.enabled && spec.gatewayNamespace === deps.gatewayNamespace)
    .map(nameOf)
    .sort();
  const known = keys.includes(asked);
  const body = renderPlayground({
    keys,
    bySecond: modelsBySecond(deps),
    chosen: known ? asked : keys.length === 1 ? keys[0] : undefined,
    own: person.ownKey !== undefined,
    model,
    gatewayUrl: deps.gatewayUrl,
    csrf,
  });
  return {
    page: {
      title: 'Playground',
      active: 'playground',
      body,
      scripts: ['copy.js', 'playground.js'],
      styles: ['playground.css'],
    },
  };
}

function nameOf({ metadata: { namespace, name } }: ApiKey): string {
  return `${namespace}/${name}`;
}

interface Asked {
  readonly path: string;
  readonly body?: string;
}

/** Answers the page's script, also where the console refuses. Only SignedOut has a page of its own. */
async function relay(request: KeyedRequest, asked: () => Asked): Promise<HandlerResult> {
  const {
    deps: { callGateway },
    gone,
  } = request;
  try {
    if (!callGateway) throw new AccessError('Invalid', 'The console has not been told the gateway’s address.');
    return { relay: await callGateway({ gone, key: await readKey(request), ...asked() }) };
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut') throw error;
    return {
      relay: {
        status: 422,
        contentType: 'application/json; charset=utf-8',
        headers: {},
        content: JSON.stringify({ error: { message: error.message } }),
      },
    };
  }
}

/** @throws AccessError (Invalid) */
function callOf({ path = '', body = '' }: Static<typeof CALL_FORM>): Asked {
  if (PATHS.has(path) && body !== '') return { path, body };
  throw new AccessError('Invalid', 'This is no call of this page.');
}

/** How far a video is, or its content. @throws AccessError (Invalid) */
function videoOf({ id = '', content }: Static<typeof VIDEO_FORM>): Asked {
  if (!VIDEO_ID.test(id)) throw new AccessError('Invalid', 'This is no id of a video.');
  return { path: `/v1/videos/${id}${content === 'yes' ? '/content' : ''}` };
}

/** @throws AccessError (Invalid) */
function usageOf({ id = '' }: Static<typeof USAGE_FORM>): Asked {
  if (REQUEST_ID.test(id)) return { path: `/v1/usage/${id}` };
  throw new AccessError('Invalid', 'This is no id of a call.');
}

/**
 * The key's text: pasted, that of the session, or of the chosen key as far as the person may read its Secret. Rejects
 * with AccessError.
 */
async function readKey(request: KeyedRequest): Promise<string> {
  const { person, form, ownKeyText } = request;
  const pasted = (form.key ?? '').trim();
  if (pasted !== '') return checked(pasted);
  return checked((person.ownKey ? ownKeyText : await readChosenKey(request)) ?? '');
}

/** undefined: it is not made yet. Rejects with AccessError. */
async function readChosenKey({ person, form }: KeyedRequest): Promise<string | undefined> {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(form.ref ?? '') ?? [];
  if (namespace === undefined || name === undefined) throw new AccessError('Invalid', 'Choose a key, or paste one.');
  try {
    return await person.readKeyText({ namespace, name });
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut') throw error;
    throw new AccessError(
      'Invalid',
      `The console cannot read the key ${name} for you: ${error.message} Paste it instead.`,
    );
  }
}

function checked(key: string): string {
  if (KEY.test(key)) return key;
  throw new AccessError(
    'Invalid',
    key === ''
      ? 'The key is not made yet. Try again in a moment.'
      : 'This is no API key: it has spaces or characters that no key has.',
  );
}
