/**
 * Requests of every client's dialect as they are sent to Gemini, Converse and OpenAI's Responses: golden files for each
 * of the models whose generations or families differ.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { Converter } from '../../../../dataplane/protocol/converter.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { assertGolden, indent } from './golden.ts';
import { TESTDATA } from './replay.ts';

const DIALECTS: readonly ChatDialect[] = ['OpenAI', 'Anthropic', 'Responses'];
const MODELS: readonly (readonly [ProviderKind, string])[] = [
  ['Gemini', 'gemini-2.5-flash'],
  ['Gemini', 'gemini-3-pro-preview'],
  ['BedrockConverse', 'anthropic.claude-sonnet-4-5'],
  ['BedrockConverse', 'amazon.nova-2-lite'],
  ['BedrockConverse', 'meta.llama3'],
];
const RESPONSES_MODELS: readonly string[] = ['gpt-5.6', 'gpt-oss-120b'];

/** The path, the body and what was left out; or the refusal. */
function convert(converter: Converter, upstreamModel: string, body: Buffer): string {
  try {
    const {
      path,
      body: sent,
      dropped,
    } = converter.request(body, parseBody(body), {
      upstreamModel,
      maxOutputTokens: 1000,
      outputLimitField: 'max_completion_tokens',
    });
    const left = dropped === undefined ? '' : `left out: ${[...dropped].sort().join(', ')}\n`;
    return `${path}\n${left}${indent(Buffer.from(sent).toString('utf8'))}`;
  } catch (error) {
    if (!(error instanceof RequestFault)) throw error;
    return `${error.code} ${error.param}: ${error.message}\n`;
  }
}

/** Requests of Responses are kept with the model that they are for. */
function requestIn(client: ChatDialect, file: Buffer): Buffer {
  if (client !== 'Responses') return file;
  return Buffer.from(JSON.stringify(parseBody(file)['request']));
}

for (const client of DIALECTS) {
  const folder = join(TESTDATA, `${client.toLowerCase()}-requests`);
  const converters: readonly (readonly [Converter, string])[] = [
    ...MODELS.map(([protocol, model]) => [converterFor(client, protocol), model] as const),
    // a client of Responses passes through
    ...(client === 'Responses' ? [] : RESPONSES_MODELS).map(
      (model) => [converterFor(client, 'OpenAI', 'Responses'), model] as const,
    ),
  ];
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.in.json')))
    for (const [converter, model] of converters)
      test(`${client} to ${model}: ${file}`, () => {
        const golden = join(TESTDATA, `${client.toLowerCase()}-to-${model}`, file.replace(/\.in\.json$/, '.out.txt'));
        assertGolden(golden, convert(converter, model, requestIn(client, readFileSync(join(folder, file)))));
      });
}
