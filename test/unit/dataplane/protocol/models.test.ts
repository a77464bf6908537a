/** Golden files of conversions that depend on the model: unsupported features, and repaired histories. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import {
  ANTHROPIC_MODELS,
  capabilitiesOf,
  DEFAULT_CAPABILITIES,
  OPENAI_MODELS,
} from '../../../../dataplane/protocol/capabilities.ts';
import type { ModelCapabilities, StatedCapabilities } from '../../../../dataplane/protocol/capabilities.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { assertGolden, pretty } from './golden.ts';
import { TESTDATA } from './replay.ts';
import type { Protocol } from './replay.ts';

interface Case {
  readonly client: Protocol;
  readonly upstream: Protocol;
  readonly upstreamModel: string;
  readonly capabilities?: StatedCapabilities;
  readonly request: object;
}

const FOLDER = join(TESTDATA, 'models');

function convert({ client, upstream, upstreamModel, capabilities, request }: Case): unknown {
  const body = Buffer.from(JSON.stringify(request));
  const { body: sent, dropped = [] } = converterFor(client, upstream).request(body, parseBody(body), {
    upstreamModel,
    maxOutputTokens: 1000,
    outputLimitField: 'max_completion_tokens',
    capabilities,
  });
  return { dropped, sent: JSON.parse(Buffer.from(sent).toString('utf8')) as unknown };
}

describe('a request as its model supports it', () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.in.json'))) {
    const name = file.slice(0, -'.in.json'.length);
    it(name, () => {
      const input = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Case;
      assertGolden(join(FOLDER, `${name}.out.json`), pretty(convert(input)));
    });
  }
});

describe('the capabilities of well-known models', () => {
  const differing = (known: typeof OPENAI_MODELS, model: string): string[] =>
    Object.entries(capabilitiesOf(known, model))
      .filter(([name, value]) => value !== DEFAULT_CAPABILITIES[name as keyof ModelCapabilities])
      .map(([name]) => name);

  it('are found by the name at the provider, with any prefix', () => {
    for (const [model, names] of [
      ['gpt-4o', ['reasoning', 'systemTurns', 'toolDescriptionLength']],
      ['openai/gpt-4.1-mini', ['reasoning', 'systemTurns', 'toolDescriptionLength']],
      ['gpt-5', ['temperature', 'stopSequences', 'systemTurns']],
      ['gpt-5-chat-latest', ['reasoning', 'systemTurns']],
      ['gpt-5.4-mini', ['temperature', 'stopSequences', 'systemTurns', 'chatToolsWithReasoning']],
      ['openai/gpt-5.6-sol', ['temperature', 'stopSequences', 'systemTurns', 'chatToolsWithReasoning']],
      ['gpt-5.1-codex-max', ['temperature', 'stopSequences', 'systemTurns', 'chatCompletions']],
      ['gpt-5-pro', ['temperature', 'stopSequences', 'systemTurns', 'chatCompletions']],
      ['computer-use-preview', ['chatCompletions']],
      ['o3', ['temperature', 'stopSequences', 'parallelTools', 'systemTurns', 'toolDescriptionLength']],
      ['ollama-model', []],
      ['openai/gpt-oss-120b', []],
      ['deepseek-reasoner', ['reasoning', 'strictSchemas', 'systemTurns']],
      ['grok-3-mini', ['systemTurns']],
      ['grok-4', ['reasoning', 'systemTurns']],
      ['x', []],
    ] as const)
      assert.deepEqual(differing(OPENAI_MODELS, model), names, model);
    for (const [model, names] of [
      ['claude-3-opus-20240229', ['reasoning', 'strictSchemas']],
      ['us.anthropic.claude-3-7-sonnet-v1', ['strictSchemas']],
      ['claude-sonnet-4-20250514', ['strictSchemas']],
      ['claude-opus-4.1', ['temperatureWithTopP']],
      ['claude-sonnet-4-5-20250929', ['temperatureWithTopP']],
      ['claude-opus-4-6', ['temperatureWithTopP', 'prefill']],
      ['claude-sonnet-5', ['temperature', 'temperatureWithTopP', 'prefill']],
      ['glm-4.6', []],
    ] as const)
      assert.deepEqual(differing(ANTHROPIC_MODELS, model), names, model);
  });

  it('are overridden by the route', () => {
    assert.equal(capabilitiesOf(OPENAI_MODELS, 'gpt-4o', { reasoning: true }).reasoning, true);
    assert.equal(capabilitiesOf(OPENAI_MODELS, 'gpt-4o', { toolDescriptionLength: 0 }).toolDescriptionLength, 0);
  });
});
