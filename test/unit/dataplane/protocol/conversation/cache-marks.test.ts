/** The cache marks of a conversation: the gateway's where the client's dialect has none, and never too many. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { markCaches } from '../../../../../dataplane/protocol/conversation/repairs/cache-marks.ts';
import type { MarkedParts } from '../../../../../dataplane/protocol/conversation/repairs/cache-marks.ts';
import type { CacheMark, TextPart, Tool, Turn } from '../../../../../dataplane/protocol/conversation/request.ts';

const HOUR: CacheMark = { ttl: '1h' };
const PATH = 'messages[0]';

const text = (of: string, cache?: CacheMark): TextPart => ({ type: 'Text', text: of, cache, path: PATH });
const user = (...parts: TextPart[]): Turn => ({ role: 'User', parts, path: PATH });
const assistant = (...parts: TextPart[]): Turn => ({ role: 'Assistant', parts, path: PATH });
const TOOL: Tool = {
  name: 'f',
  description: undefined,
  schema: undefined,
  strict: undefined,
  examples: [],
  cache: undefined,
  takesText: false,
  path: 'tools[0]',
};
const TALK: MarkedParts = {
  tools: [TOOL, { ...TOOL, name: 'g' }],
  system: [text('s'), text('t')],
  turns: [user(text('a')), assistant(text('b')), user(text('c'), text('d')), assistant(text('e')), user(text('f'))],
};

/** The names and texts that have a mark. */
function marks(parts: MarkedParts, automaticCaching = true, cache?: CacheMark): readonly string[] {
  const settings = cache ? { cache: { value: cache, path: 'cache_control' } } : {};
  const { tools, system, turns } = markCaches(parts, { automaticCaching, settings }, 4);
  return [...tools, ...system, ...turns.flatMap((turn) => turn.parts as readonly { cache?: CacheMark }[])]
    .filter((part) => part.cache !== undefined)
    .map((part) => ('text' in part ? part.text : 'name' in part ? part.name : 'result'));
}

describe('a conversation of a client whose dialect caches by itself', () => {
  it('is marked after the system prompt and in the last two turns of the user', () =>
    assert.deepEqual(marks(TALK), ['t', 'd', 'f']));
  it('is marked after the tools without a system prompt', () =>
    assert.deepEqual(marks({ ...TALK, system: [], turns: [user(text('a'))] }), ['g', 'a']));
  it('has no marks if it is a first question without tools', () =>
    assert.deepEqual(marks({ ...TALK, tools: [], turns: [user(text('a'))] }), []));
  it("has the client's own marks instead, or the client's setting", () => {
    assert.deepEqual(marks({ ...TALK, system: [text('s', HOUR), text('t')] }), ['s']);
    assert.deepEqual(marks(TALK, true, HOUR), []);
  });
});

describe('the marks of a client', () => {
  it('are all there are', () => assert.deepEqual(marks(TALK, false), []));
  it('are the last four, with the setting', () => {
    const many = { ...TALK, turns: ['a', 'b', 'c', 'd', 'e'].map((each) => user(text(each, HOUR))) };
    assert.deepEqual(marks(many, false), ['b', 'c', 'd', 'e']);
    assert.deepEqual(marks(many, false, HOUR), ['c', 'd', 'e']);
    assert.equal(markCaches(many, { settings: {} }, 4).removed, true);
    assert.equal(markCaches(TALK, { settings: {} }, 4).removed, false);
  });
  it("within a tool's result are the result's", () => {
    const result: Turn = {
      role: 'User',
      parts: [{ type: 'ToolResult', callId: 'c', isError: false, parts: [text('a', HOUR), text('b')], path: PATH }],
      path: PATH,
    };
    const { turns } = markCaches({ ...TALK, turns: [result] }, { settings: {} }, 4);
    assert.deepEqual(turns, [
      {
        ...result,
        parts: [
          {
            type: 'ToolResult',
            callId: 'c',
            isError: false,
            parts: [text('a'), text('b')],
            path: PATH,
            cache: HOUR,
          },
        ],
      },
    ]);
  });
});
