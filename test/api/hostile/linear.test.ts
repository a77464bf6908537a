/** Traversals of a body are linear: each value is visited a bounded number of times, at any nesting. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readChatFacts as readAnthropic } from '../../../dataplane/protocol/anthropic/facts.ts';
import { converterFor } from '../../../dataplane/protocol/providers.ts';
import { readChatFacts as readOpenAI } from '../../../dataplane/protocol/openai/facts.ts';
import { findImageField } from '../../../dataplane/protocol/image-inputs.ts';

const NO_BYTES = Buffer.alloc(0);
const PLAN = { upstreamModel: 'm', maxOutputTokens: 10, outputLimitField: 'max_tokens' } as const;

/** Nested blocks, each with a member that counts its reads. */
function nestedBlocks(depth: number, name: string): { readonly block: object; readonly reads: () => number } {
  let reads = 0;
  let block: object = { type: 'unknown' };
  for (let level = 0; level < depth; level++)
    block = {
      type: 'unknown',
      [name]: name === 'source' ? { content: [block] } : [block],
      get probe() {
        return reads++;
      },
    };
  return { block, reads: () => reads };
}

describe('traversals of a body', () => {
  for (const name of ['content', 'tool_changes', 'source', 'anything'])
    it(`read each block within "${name}" a few times, not once per level`, () => {
      const depth = 400;
      for (const read of [readAnthropic, readOpenAI]) {
        const { block, reads } = nestedBlocks(depth, name);
        read(NO_BYTES, { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: [block] }] });
        assert.ok(reads() <= 4 * depth, `${reads()} reads of ${depth} blocks`);
      }
    });

  it('count an image in nested unknown blocks, but not once per level', () => {
    const image = { type: 'unknown', data: 'data:image/png;base64,AAAA' };
    const nested = { type: 'unknown', tool_changes: [{ type: 'unknown', tool_changes: [image] }] };
    const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: [nested] }] };
    const { images } = readAnthropic(NO_BYTES, body);
    assert.ok(images === 1 || images === 2, String(images));
  });

  it('keep the order of tool results before the rest of a turn', () => {
    const tool = (id: string): object => ({ role: 'tool', tool_call_id: id, content: id });
    const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }));
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', tool_calls: calls },
      { role: 'user', content: 'x' },
      tool('a'),
      { role: 'user', content: 'y' },
      tool('b'),
    ];
    const { body } = converterFor('OpenAI', 'Anthropic').request(NO_BYTES, { model: 'm', messages }, PLAN);
    const [, , turn] = (JSON.parse(Buffer.from(body).toString()) as { messages: { content: { type: string }[] }[] })
      .messages;
    assert.deepEqual(
      turn?.content.map(({ type }) => type),
      ['tool_result', 'tool_result', 'text', 'text'],
    );
  });

  it('find an image field by a name with many brackets', () => {
    // a regular expression took quadratic time in the length of this name
    assert.equal(findImageField({ [`${'['.repeat(60_000)}\n`]: 'x' }), undefined);
    assert.equal(findImageField({ 'image[0]': 'x' }), 'image[0]');
  });
});
