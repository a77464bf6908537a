/** [P] Validates the models and channels of a ModelRoute, so that calls can rely on them. */
import { expectLimits, expectNames } from './faults.ts';
import type { FaultCollector } from './faults.ts';
import { Allowance, ChannelEndpoint, ClientDisconnect, Endpoint, Input, Protocol } from './snapshot.gen.ts';
import type { Channel, Model, ModelRoute, Timeouts } from './snapshot.gen.ts';

const OUTPUT_LIMIT_FIELDS = new Set(['max_completion_tokens', 'max_tokens']);
/** Characters of a header's value. A credential with a line break would add further headers. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;
/** A header's name in lower case; '*' at the end matches any rest. */
const HEADER_PATTERN = /^[a-z0-9!#$%&._|~^+-]+\*?$/;
const SEALING_KEY = /^[A-Za-z0-9+/]{43}=$/;
const SCHEMES = new Set(['http:', 'https:']);

/** Adds every fault of one route. */
export function validateRoute(to: FaultCollector, route: ModelRoute): void {
  to.expect(route.clientDisconnect !== ClientDisconnect.UNSPECIFIED, 'client_disconnect: required');
  expectNames(
    to,
    'models',
    route.models.map(({ name }) => name),
  );
  expectNames(
    to,
    'channels',
    route.channels.map(({ name }) => name),
  );
  for (const { value } of route.sealing?.keys ?? [])
    to.expect(SEALING_KEY.test(value), 'sealing: a key is not the base64 text of 32 bytes');
  for (const model of route.models) validateModel(to, `models "${model.name}"`, model);
  for (const channel of route.channels) validateChannel(to, `channels "${channel.name}"`, channel);
}

function validateModel(to: FaultCollector, path: string, model: Model): void {
  expectSpecified(to, `${path}: endpoints`, model.endpoints, Endpoint.UNSPECIFIED);
  expectSpecified(to, `${path}: inputs`, model.inputs, Input.UNSPECIFIED);
  to.expect(model.endpoints.length > 0, `${path}: endpoints: at least one is required`);
  to.expect(model.inputs.length > 0, `${path}: inputs: at least one is required`);
  to.expect(!model.allow.includes(Allowance.UNSPECIFIED), `${path}: allow: an unknown value`);
  const chats = model.endpoints.includes(Endpoint.CHAT);
  const reads = chats || model.endpoints.includes(Endpoint.EMBEDDINGS);
  to.expect(!reads || model.contextTokens > 0, `${path}: context_tokens: required for Chat and Embeddings`);
  to.expect(!chats || model.maxOutputTokens > 0, `${path}: max_output_tokens: required for Chat`);
  const takesImages = model.inputs.includes(Input.IMAGE);
  to.expect(
    !chats || OUTPUT_LIMIT_FIELDS.has(model.outputLimitField),
    `${path}: output_limit_field: must be max_completion_tokens or max_tokens`,
  );
  to.expect(!takesImages || model.imageTokens > 0, `${path}: image_tokens: required for a model that takes images`);
}

function expectSpecified<T extends string>(
  to: FaultCollector,
  path: string,
  values: readonly T[],
  unspecified: T,
): void {
  to.expect(!values.includes(unspecified), `${path}: an unknown value`);
  to.expect(new Set(values).size === values.length, `${path}: a value is there twice`);
}

function validateChannel(to: FaultCollector, path: string, channel: Channel): void {
  to.expect(channel.protocol !== Protocol.UNSPECIFIED, `${path}: protocol: required`);
  validateBaseUrl(to, `${path}: base_url`, channel.baseUrl);
  if (channel.proxyUrl !== undefined) validateProxyUrl(to, `${path}: proxy_url`, channel.proxyUrl);
  to.expect(
    channel.apiKey === undefined || HEADER_VALUE.test(channel.apiKey.value),
    `${path}: api_key: empty, or with characters that no header may hold`,
  );
  validateSignIn(to, `${path}: sign_in`, channel);
  expectSpecified(to, `${path}: endpoints`, channel.endpoints?.endpoints ?? [], ChannelEndpoint.UNSPECIFIED);
  expectNames(
    to,
    `${path}: models`,
    channel.models.map(({ name }) => name),
  );
  for (const { name, upstreamName } of channel.models)
    to.expect(upstreamName !== '', `${path}: models "${name}": upstream_name: required`);
  to.expect(
    channel.allowedHeaders.every((name) => HEADER_PATTERN.test(name)),
    `${path}: allowed_headers: not a header's name in lower case`,
  );
  to.expect(channel.weight >= 1, `${path}: weight: must be at least 1`);
  expectLimits(to, `${path}: `, channel);
  validateTimeouts(to, `${path}: timeouts`, channel.timeouts);
}

const KEY_HEADERS = new Set(['authorization', 'api-key', 'x-api-key', 'x-goog-api-key']);

function validateSignIn(to: FaultCollector, path: string, { signIn, apiKey, keyHeader }: Channel): void {
  to.expect(keyHeader === undefined || KEY_HEADERS.has(keyHeader), `${path}: key_header: no header that carries a key`);
  if (!signIn) return;
  to.expect(signIn.way !== undefined, `${path}: an unknown way to sign in`);
  to.expect(apiKey === undefined, `${path}: not together with api_key`);
  if (signIn.way?.$case === 'aws')
    to.expect(signIn.way.value.region !== '' && signIn.way.value.service !== '', `${path}: aws: incomplete`);
}

function validateBaseUrl(to: FaultCollector, path: string, baseUrl: string): void {
  const url = URL.parse(baseUrl);
  if (!url || !SCHEMES.has(url.protocol)) return to.expect(false, `${path}: not an http or https URL`);
  to.expect(url.username === '' && url.password === '', `${path}: must not hold a credential`);
  to.expect(url.hash === '', `${path}: must not have a fragment`);
}

function validateProxyUrl(to: FaultCollector, path: string, proxyUrl: string): void {
  validateBaseUrl(to, path, proxyUrl);
  const url = URL.parse(proxyUrl);
  if (url?.host) to.expect(url.pathname === '/' && url.search === '', `${path}: must not have a path or a query`);
}

function validateTimeouts(to: FaultCollector, path: string, timeouts: Timeouts | undefined): void {
  if (!timeouts) return to.expect(false, `${path}: required`);
  const { connectMs, firstByteMs, wholeMs, idleMs } = timeouts;
  to.expect(connectMs > 0 && firstByteMs > 0 && wholeMs > 0 && idleMs > 0, `${path}: each must be at least 1 ms`);
}
