/** [P] Unknown paths: what is wrong with the path, and what to call instead. */
import { GatewayError } from '../errors.ts';
import { allowedMethods } from './paths.ts';

/** Something that the providers' APIs have at a path and the gateway has not. */
interface UnsupportedEndpoint {
  readonly methods: RegExp;
  readonly path: RegExp;
  readonly instead: string;
}

const UNSUPPORTED: readonly UnsupportedEndpoint[] = [
  {
    methods: /^(?:GET|HEAD)$/, path: /^\/v1\/videos$/,
    instead: 'Videos are not listed: their provider would list those of every key. Keep the id that each POST '
      + '/v1/videos answers, and GET /v1/videos/{id}.',
  },
  {
    methods: /^POST$/, path: /^\/v1\/videos\/[^/]+\/remix$/,
    instead: 'Videos are not remixed here. Make a new one with POST /v1/videos, with a picture of the first as '
      + '"input_reference" where the model takes images.',
  },
  {
    methods: /^POST$/, path: /^\/v1\/videos\/(?:edits|extensions)$/,
    instead: 'Videos are not edited or extended here. Make a new one with POST /v1/videos.',
  },
  {
    methods: /./, path: /^\/v1\/videos\/characters(?:\/[^/]+)?$/,
    instead: 'Characters are kept at the provider, where they would belong to every key. Describe them in the prompt '
      + 'of POST /v1/videos.',
  },
  {
    methods: /^POST$/, path: /^\/v1\/responses\/compact$/,
    instead: 'Conversations are not compacted here. Shorten "input" before POST /v1/responses.',
  },
  {
    methods: /^POST$/, path: /^\/v1\/responses\/input_tokens$/,
    instead: 'The tokens of a response\'s input are not counted here. POST /v1/messages/count_tokens counts a '
      + 'conversation in Anthropic\'s shape for any chat model.',
  },
  {
    methods: /./, path: /^\/v1\/responses\/[^/]+(?:\/(?:cancel|input_items))?$/,
    instead: 'Responses are not kept for later: read the answer of POST /v1/responses itself, streaming or not, and '
      + 'send whole conversations in "input".',
  },
  {
    methods: /./, path: /^\/v1\/conversations(?:\/.*)?$/,
    instead: 'Conversations are not kept at the provider. Send them whole, in "input" of POST /v1/responses or '
      + '"messages" of POST /v1/chat/completions.',
  },
  {
    methods: /^POST$/, path: /^\/v1\/images\/(?:edits|variations)$/,
    instead: 'Images are generated only: POST /v1/images/generations.',
  },
];

/** The error for a request that no route takes: not_found, or method_not_allowed where only the method is wrong. */
export function notFound(method: string, url: string): GatewayError {
  const [path = ''] = url.split('?', 1);
  const instead = UNSUPPORTED.find((row) => row.methods.test(method) && row.path.test(path))?.instead;
  if (instead !== undefined) return new GatewayError('not_found', instead);
  const allowed = allowedMethods(path);
  if (allowed.length > 0)
    return new GatewayError('method_not_allowed', `${method} is not possible here; use ${allowed.join(' or ')}.`, {
      headers: { allow: allowed.join(', ') },
    });
  if (path.startsWith('/v1/v1/'))
    return new GatewayError('not_found', 'The path has /v1 twice: the base URL given to the SDK must not have /v1 where '
      + 'the SDK adds it (OpenAI: with /v1, Anthropic: without).');
  const nothing = `There is nothing at ${method} ${path.slice(0, 200)}.`;
  if (allowedMethods(`/v1${path}`).length > 0)
    return new GatewayError('not_found',
      `${nothing} The path lacks /v1: the base URL given to OpenAI's SDK must end in /v1.`);
  return new GatewayError('not_found', nothing);
}
