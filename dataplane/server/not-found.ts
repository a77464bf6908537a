/** [P] The errors for unknown paths: what is wrong with the path, and what to call instead. */
import { GatewayError } from '../errors.ts';
import { ENDPOINTS } from '../pipeline/endpoints/endpoints.ts';
import { asksForWebSocket } from './expect.ts';
import { allowedMethods } from './paths.ts';
import { splitUrl } from './split-url.ts';

/** An endpoint of the providers' APIs that the gateway does not have. */
interface UnsupportedEndpoint {
  readonly methods: RegExp;
  readonly path: RegExp;
  readonly instead: string;
}

const UNSUPPORTED: readonly UnsupportedEndpoint[] = [
  {
    methods: /^(?:GET|HEAD)$/,
    path: /^\/v1\/videos$/,
    instead:
      'Videos are not listed: their provider would list those of every key. Keep the id that each POST ' +
      '/v1/videos answers, and GET /v1/videos/{id}.',
  },
  {
    methods: /^POST$/,
    path: /^\/v1\/videos\/[^/]+\/remix$/,
    instead:
      'Videos are not remixed here. Make a new one with POST /v1/videos, with a picture of the first as ' +
      '"input_reference" where the model takes images.',
  },
  {
    methods: /^POST$/,
    path: /^\/v1\/videos\/(?:edits|extensions)$/,
    instead: 'Videos are not edited or extended here. Make a new one with POST /v1/videos.',
  },
  {
    methods: /./,
    path: /^\/v1\/videos\/characters(?:\/[^/]+)?$/,
    instead:
      'Characters are kept at the provider, where they would belong to every key. Describe them in the prompt ' +
      'of POST /v1/videos.',
  },
  {
    methods: /^(?:GET|HEAD)$/,
    path: /^\/v1\/conversations$/,
    instead:
      'Conversations are not listed: a provider would list those of every key, and the gateway knows its own by their ' +
      'ids. Keep the id that each POST /v1/conversations answers, and GET /v1/conversations/{id}.',
  },
  {
    methods: /./,
    path: /^(?:\/v1(?:beta|alpha)\/batches(?:\/.*)?|\/v1(?:beta|alpha)?\/models\/.+:(?:asyncB|b)atch(?:Generate|Embed)Content)$/,
    instead:
      "Batches are taken in OpenAI's protocol (POST /v1/files, POST /v1/batches) and in Anthropic's (POST " +
      '/v1/messages/batches).',
  },
  {
    methods: /./,
    path: /^(?:\/v1(?:beta|alpha)\/files|\/upload\/v1(?:beta|alpha)?\/files|(?:\/upload)?\/v1(?:beta|alpha)?\/uploads)(?:[/:].*)?$/,
    instead:
      'Only files of batches are kept at the provider (POST /v1/files): send other content in the message itself, ' +
      'in base64.',
  },
  {
    methods: /./,
    path: /^\/v1\/containers(?:\/.*)?$/,
    instead:
      'Containers are not kept at the provider, where they would belong to every key: run code on your side, as a ' +
      'tool of the model.',
  },
  {
    methods: /./,
    path: /^\/v1\/skills(?:\/.*)?$/,
    instead:
      'Skills are not kept at the provider, where they would belong to every key: send what they say as ' +
      'instructions, with the files that they need.',
  },
  {
    methods: /./,
    path: /^\/v1\/audio\/(?:voices|voice_consents)(?:\/.*)?$/,
    instead: 'Voices are not kept at the provider, where they would belong to every key: name one that it has.',
  },
  {
    methods: /./,
    path: /^\/v1\/realtime\/.+$/,
    instead:
      'Sessions are opened over a WebSocket at /v1/realtime?model=…, with a key of this gateway: there are no calls over ' +
      'WebRTC or SIP, and no secrets for clients.',
  },
  {
    methods: /./,
    path: /^\/v1\/engines\/[^/]+\/completions$/,
    instead: 'Engines are models now: name yours in "model" of POST /v1/completions or /v1/chat/completions.',
  },
  {
    methods: /./,
    path: /^\/v1\/complete$/,
    instead: 'Text completions are not served: send the prompt as a user message to POST /v1/messages.',
  },
  {
    methods: /./,
    path: /^\/v1\/(?:assistants|threads)(?:\/.*)?$/,
    instead:
      'Assistants and threads are not served: keep conversations with POST /v1/conversations, where the platform or a ' +
      'provider keeps them, and name them in POST /v1/responses.',
  },
  {
    methods: /./,
    path: /^(?:\/upload)?\/v1(?:beta|alpha)?\/(?:vector_stores|fine_tuning|evals|fileSearchStores|corpora|tunedModels)(?:[/:].*)?$/,
    instead:
      'What the provider stores would belong to every key, so that it is not offered: keep documents on your ' +
      'side, and send them with each call.',
  },
  {
    methods: /^POST$/,
    path: /^\/v1(?:beta|alpha)?\/models\/.+:predictLongRunning$/,
    instead: "Videos are made in OpenAI's protocol: POST /v1/videos.",
  },
  {
    methods: /./,
    path: /^\/v1(?:beta|alpha)?\/cachedContents(?:\/.*)?$/,
    instead:
      'Caches are not made here, since they would belong to every key. Send the whole conversation with ' +
      ':generateContent: providers cache its beginning by themselves.',
  },
  {
    methods: /./,
    path: /^\/v1(?:beta|alpha)?\/interactions(?:\/.*)?$/,
    instead: 'Interactions are not served: call :generateContent, or POST /v1/responses.',
  },
  {
    methods: /^POST$/,
    path: /^\/v1(?:beta|alpha)\/models\/.+:[A-Za-z]+$/,
    instead:
      "Of Google's methods, :generateContent, :streamGenerateContent, :countTokens, :embedContent, " +
      ':batchEmbedContents and :predict are served.',
  },
];

/** Headers of the refusal of a WebSocket, both of which RFC 9110 requires. */
const NO_UPGRADE = { upgrade: 'HTTP/1.1', connection: 'upgrade, close' };

/**
 * The error for a request without a route: not_found, method_not_allowed if only the method is wrong, or
 * upgrade_required for responses over a WebSocket. `upgrade` is the header of this name.
 */
export function notFound(method: string, url: string, upgrade?: string): GatewayError {
  const { path } = splitUrl(url);
  if (path === ENDPOINTS.responses.path && asksForWebSocket(upgrade))
    return new GatewayError(
      'upgrade_required',
      'Responses are not served over a WebSocket. POST /v1/responses with ' +
        '"stream": true answers with server-sent events.',
      { headers: NO_UPGRADE },
    );
  const instead = UNSUPPORTED.find((row) => row.methods.test(method) && row.path.test(path))?.instead;
  if (instead !== undefined) return new GatewayError('not_found', instead);
  const allowed = allowedMethods(path);
  if (allowed.length > 0)
    return new GatewayError('method_not_allowed', `${method} is not possible here; use ${allowed.join(' or ')}.`, {
      headers: { allow: allowed.join(', ') },
    });
  const nothing = `There is nothing at ${method} ${path.slice(0, 200)}.`;
  const hint = hintFor(path);
  return new GatewayError('not_found', hint === undefined ? nothing : `${nothing} ${hint}`);
}

/** What is wrong with a path that is one of the API's but for a base URL that the SDK does not expect. */
function hintFor(path: string): string | undefined {
  const tidy = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  if (/^\/v1\/v1(?:\/|$)/.test(tidy))
    return (
      'The path has /v1 twice: the base URL given to the SDK must not have /v1' +
      ' where the SDK adds it (OpenAI: with /v1, Anthropic: without).'
    );
  if (tidy.startsWith('/messages') && allowedMethods(`/v1${tidy}`).length > 0)
    return 'The path lacks /v1: the base URL given to a client that does not add it must end in /v1.';
  if (allowedMethods(`/v1${tidy}`).length > 0)
    return "The path lacks /v1: the base URL given to OpenAI's SDK must end in /v1.";
  if (tidy !== path && allowedMethods(tidy).length > 0) {
    const base = path.includes('//') ? ', with a base URL that does not end in a slash' : '';
    return `The path has a slash too many: call ${tidy.slice(0, 200)}${base}.`;
  }
  return undefined;
}
