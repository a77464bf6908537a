/** Every conversion of a client's dialect to another protocol. */
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import type { Converter } from '../../../../dataplane/protocol/converter.ts';
import type { JsonRecord } from '../../../../dataplane/protocol/fields.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';

export type ProviderName = 'chat completions' | 'Responses' | 'Anthropic' | 'Gemini' | 'Converse';

export interface Pair {
  readonly client: ChatDialect;
  readonly provider: ProviderName;
  readonly converter: Converter;
  readonly model: string;
}

const CLIENTS: readonly ChatDialect[] = ['OpenAI', 'Responses', 'Anthropic', 'Gemini'];

interface Known {
  readonly name: ProviderName;
  /** The dialect that passes through. */
  readonly own?: ChatDialect;
  readonly kind: ProviderKind;
  readonly model: string;
}

const PROVIDERS: readonly Known[] = [
  { name: 'chat completions', own: 'OpenAI', kind: 'OpenAI', model: 'vendor/chat-1' },
  { name: 'Responses', own: 'Responses', kind: 'OpenAI', model: 'gpt-5.6' },
  { name: 'Anthropic', own: 'Anthropic', kind: 'Anthropic', model: 'claude-sonnet-4-5' },
  { name: 'Gemini', own: 'Gemini', kind: 'Gemini', model: 'gemini-2.5-flash' },
  { name: 'Converse', kind: 'BedrockConverse', model: 'amazon.nova-pro' },
];

export const PAIRS: readonly Pair[] = PROVIDERS.flatMap(({ name, own, kind, model }) =>
  CLIENTS.filter((client) => client !== own).map((client) => ({
    client,
    provider: name,
    converter: converterFor(client, kind, name === 'Responses' ? 'Responses' : 'Chat'),
    model,
  })),
);

export interface Sent {
  readonly body: JsonRecord;
  readonly text: string;
  readonly dropped: readonly string[];
}

/** Converts a request of the pair's client. Throws RequestFault. */
export function send({ converter, model }: Pair, request: JsonRecord, upstreamModel = model): Sent {
  const given = { model: 'm', ...request };
  const { body, dropped = [] } = converter.request(Buffer.from(JSON.stringify(given)), given, {
    upstreamModel,
    maxOutputTokens: 99,
    outputLimitField: 'max_tokens',
  });
  const text = Buffer.from(body).toString();
  return { body: JSON.parse(text) as JsonRecord, text, dropped };
}
