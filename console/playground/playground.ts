/** The playground: calls with one of a person's keys, which pays for them as for any other call. */
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import { renderPlayground } from './view.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { modelsBySecond } from '../queries/price-lists.ts';

export const playgroundRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/playground', handle: showPlayground },
  { method: 'POST', path: '/playground/models', handle: (request) => relay(request, () => ({ path: '/v1/models' })) },
  { method: 'POST', path: '/playground/calls', handle: (request) => relay(request, callOf) },
  { method: 'POST', path: '/playground/videos', handle: (request) => relay(request, videoOf) },
  { method: 'POST', path: '/playground/usage', handle: (request) => relay(request, usageOf) },
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

async function showPlayground({ person, deps, query, csrf }: PageRequest): Promise<HandlerResult> {
  const { objects } = await person.list('ApiKey');
  const keys = objects
    .filter(({ spec }) => spec.enabled && spec.gatewayNamespace === deps.gatewayNamespace)
    .map(nameOf)
    .sort();
  const asked = query.get('key') ?? '';
  const known = keys.includes(asked);
  const body = renderPlayground({
    keys,
    bySecond: modelsBySecond(deps),
    chosen: known ? asked : keys.length === 1 ? keys[0] : undefined,
    own: person.ownKey !== undefined,
    model: query.get('model') ?? '',
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
async function relay(request: PageRequest, asked: (request: PageRequest) => Asked): Promise<HandlerResult> {
  const {
    deps: { callGateway },
    gone,
  } = request;
  try {
    if (!callGateway) throw new AccessError('Invalid', 'The console has not been told the gateway’s address.');
    return { relay: await callGateway({ gone, key: await readKey(request), ...asked(request) }) };
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
function callOf({ form }: PageRequest): Asked {
  const [path, body] = [form.get('path') ?? '', form.get('body') ?? ''];
  if (PATHS.has(path) && body !== '') return { path, body };
  throw new AccessError('Invalid', 'This is no call of this page.');
}

/** How far a video is, or its content. @throws AccessError (Invalid) */
function videoOf({ form }: PageRequest): Asked {
  const id = form.get('id') ?? '';
  if (!VIDEO_ID.test(id)) throw new AccessError('Invalid', 'This is no id of a video.');
  return { path: `/v1/videos/${id}${form.get('content') === 'yes' ? '/content' : ''}` };
}

/** @throws AccessError (Invalid) */
function usageOf({ form }: PageRequest): Asked {
  const id = form.get('id') ?? '';
  if (REQUEST_ID.test(id)) return { path: `/v1/usage/${id}` };
  throw new AccessError('Invalid', 'This is no id of a call.');
}

/**
 * The key's text: pasted, that of the session, or of the chosen key as far as the person may read its Secret. Rejects
 * with AccessError.
 */
async function readKey(request: PageRequest): Promise<string> {
  const { person, form, ownKeyText } = request;
  const pasted = (form.get('key') ?? '').trim();
  if (pasted !== '') return checked(pasted);
  return checked((person.ownKey ? ownKeyText : await readChosenKey(request)) ?? '');
}

/** undefined: it is not made yet. Rejects with AccessError. */
async function readChosenKey({ person, form }: PageRequest): Promise<string | undefined> {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(form.get('ref') ?? '') ?? [];
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
