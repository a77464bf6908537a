/**
 * [P] Envoy's own errors, in the dialect of the path and the headers as the proxies' errors. Errors of calls that
 * reached no proxy say when to try again, as a proxy without its ledger does; a call with a broken connection may have
 * been billed.
 */
import type { AccessLogFilter, LocalReplyConfig, ResponseMapper } from './envoy.gen.ts';

/** Nothing of the call was sent: no healthy proxy, no connection, or too many calls waiting for one. */
const UNSENT_FLAGS = ['UH', 'UF', 'UO'];
const RETRY_AFTER = { key: 'retry-after', value: '1' };
const UNSENT =
  'No proxy of the gateway is reachable. The call was neither sent nor billed. Try again shortly (edge: ' +
  '%RESPONSE_CODE% %RESPONSE_FLAGS%).';
const BROKEN_OFF =
  'No proxy of the gateway is reachable, or the connection broke (edge: %RESPONSE_CODE% %RESPONSE_FLAGS%).';

interface EdgeDialect {
  /** The requests that have the dialect. */
  readonly filter: AccessLogFilter;
  readonly body: (message: string) => string;
}

const anthropicBody: EdgeDialect['body'] = (message) =>
  `{"type":"error","error":{"type":"api_error","message":"${message}"}}`;
const geminiBody: EdgeDialect['body'] = (message) =>
  `{"error":{"code":%RESPONSE_CODE%,"message":"${message}","status":"UNAVAILABLE"}}`;
const openAiBody: EdgeDialect['body'] = (message) =>
  `{"error":{"message":"${message}","type":"server_error","param":null,"code":"edge_error"}}`;

/** The first one that fits a request; every other request has OpenAI's dialect. */
const DIALECTS: readonly EdgeDialect[] = [
  { filter: onPath('/v1/messages'), body: anthropicBody },
  { filter: onPath('/v1beta'), body: geminiBody },
  { filter: onPath('/v1alpha'), body: geminiBody },
  { filter: withHeader('anthropic-version'), body: anthropicBody },
];

/** Envoy uses the first mapper with a matching filter. Without a match, the body is in OpenAI's dialect. */
export function localReplies(): LocalReplyConfig {
  return {
    mappers: [
      ...DIALECTS.map(({ filter, body }) => unsent(body, allOf(filter, IS_UNSENT))),
      unsent(openAiBody, IS_UNSENT),
      ...DIALECTS.map(({ filter, body }) => ({ filter, bodyFormatOverride: format(body(BROKEN_OFF)) })),
    ],
    bodyFormat: format(openAiBody(BROKEN_OFF)),
  };
}

const IS_UNSENT: AccessLogFilter = { responseFlagFilter: { flags: UNSENT_FLAGS } };

function unsent(body: EdgeDialect['body'], filter: AccessLogFilter): ResponseMapper {
  return { filter, bodyFormatOverride: format(body(UNSENT)), headersToAdd: [{ header: RETRY_AFTER }] };
}

function onPath(prefix: string): AccessLogFilter {
  return { headerFilter: { header: { name: ':path', stringMatch: { prefix } } } };
}

function withHeader(name: string): AccessLogFilter {
  return { headerFilter: { header: { name, presentMatch: true } } };
}

function allOf(...filters: readonly AccessLogFilter[]): AccessLogFilter {
  return { andFilter: { filters: [...filters] } };
}

function format(inlineString: string): ResponseMapper['bodyFormatOverride'] {
  return { contentType: 'application/json', textFormatSource: { inlineString } };
}
