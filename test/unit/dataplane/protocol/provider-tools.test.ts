/** Tools that the provider runs under each value of providerTools, in each dialect and on each provider. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readFacts } from '../../../../dataplane/protocol/body-kinds.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ChatDialect as AnyDialect, ProviderTools } from '../../../../dataplane/protocol/call-facts.ts';
import { converterFor, providerOf } from '../../../../dataplane/protocol/providers.ts';

interface Sent {
  readonly body: Record<string, unknown>;
  readonly text: string;
  readonly dropped: readonly string[] | undefined;
}

/** Dialects whose requests pass through somewhere. */
type ChatDialect = Exclude<AnyDialect, 'Gemini'>;
type Fields = Readonly<Record<string, unknown>>;

const KINDS = { OpenAI: 'OpenAIChat', Anthropic: 'AnthropicChat', Responses: 'Responses' } as const;

function send(
  client: ChatDialect,
  upstream: 'OpenAI' | 'Anthropic',
  options: {
    readonly fields: Fields;
    readonly providerTools?: ProviderTools;
    readonly convert?: boolean;
  },
): Sent {
  const { fields, providerTools, convert = false } = options;
  const opening = client === 'Responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] };
  const request = { model: 'm', ...opening, ...fields };
  const converter =
    client === 'Responses' && !convert ? providerOf('OpenAI').endpoints?.responses : converterFor(client, upstream);
  assert.ok(converter);
  const { body, dropped } = converter.request(Buffer.from(JSON.stringify(request)), request, {
    upstreamModel: 'm',
    maxOutputTokens: 100,
    outputLimitField: 'max_completion_tokens',
    providerTools,
  });
  const text = Buffer.from(body).toString('utf8');
  return { body: JSON.parse(text), text, dropped };
}

function droppableOf(client: ChatDialect, request: Fields): readonly string[] {
  const { unbounded } = readFacts(KINDS[client], Buffer.from(JSON.stringify(request)), request);
  return unbounded.filter(({ droppable }) => droppable).map(({ param }) => param);
}

const faultOf = (make: () => unknown): string | undefined => {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof RequestFault, String(error));
    return `${error.code} ${error.param}`;
  }
  return undefined;
};

const OWN = { type: 'function', name: 'f', parameters: {} };
const SEARCH = { type: 'web_search_2025_08_26' };
const CHAT_TOOL = { type: 'function', function: { name: 'f' } };
const MESSAGES_TOOL = { name: 'f', input_schema: { type: 'object', properties: {} } };
const MESSAGES_SEARCH = { type: 'web_search_20250305', name: 'web_search' };

describe('provider tools of a request that passes through', () => {
  const cases: readonly [what: string, client: ChatDialect, fields: Fields, sent: Fields, dropped: string[]][] = [
    [
      'tools of Responses',
      'Responses',
      { tools: [SEARCH, OWN, { type: 'mcp', server_label: 's' }], tool_choice: 'required' },
      { tools: [OWN], tool_choice: 'required' },
      ['tools[0] (web_search_2025_08_26)', 'tools[2] (mcp)'],
    ],
    [
      'a choice of one of them',
      'Responses',
      { tools: [SEARCH, OWN], tool_choice: { type: 'web_search' } },
      { tools: [OWN] },
      ['tools[0] (web_search_2025_08_26)', 'tool_choice'],
    ],
    [
      'the part of a choice that is theirs',
      'Responses',
      {
        tools: [{ type: 'mcp' }, OWN],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'mcp' }, { type: 'function', name: 'f' }],
        },
      },
      {
        tools: [OWN],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'function', name: 'f' }],
        },
      },
      ['tools[0] (mcp)', 'tool_choice'],
    ],
    [
      'those in a namespace, and of input items',
      'Responses',
      {
        tools: [{ type: 'namespace', name: 'n', tools: [OWN, SEARCH] }],
        input: [
          { type: 'additional_tools', tools: [SEARCH] },
          { role: 'user', content: 'x' },
        ],
      },
      {
        tools: [{ type: 'namespace', name: 'n', tools: [OWN] }],
        input: [
          { type: 'additional_tools', tools: [] },
          { role: 'user', content: 'x' },
        ],
      },
      ['tools[0].tools[1] (web_search_2025_08_26)', 'input[0].tools[0] (web_search_2025_08_26)'],
    ],
    [
      'a search of chats, with what needs tools',
      'OpenAI',
      { tools: [{ type: '$web_search' }], tool_choice: 'auto', parallel_tool_calls: true, web_search_options: {} },
      {},
      ['web_search_options', 'tools[0] ($web_search)'],
    ],
    [
      'a namespace, which chats do not have',
      'OpenAI',
      { tools: [{ type: 'namespace', tools: [SEARCH] }, CHAT_TOOL] },
      { tools: [CHAT_TOOL] },
      ['tools[0] (namespace)'],
    ],
    [
      'tools of messages, and the choice by name',
      'Anthropic',
      { tools: [MESSAGES_SEARCH, MESSAGES_TOOL], tool_choice: { type: 'tool', name: 'web_search' } },
      { tools: [MESSAGES_TOOL] },
      ['tools[0] (web_search_20250305)', 'tool_choice'],
    ],
    [
      'the only tool of messages',
      'Anthropic',
      { tools: [MESSAGES_SEARCH], tool_choice: { type: 'auto' } },
      {},
      ['tools[0] (web_search_20250305)'],
    ],
  ];
  for (const [what, client, fields, expected, dropped] of cases) {
    it(what, () => {
      const upstream = client === 'Anthropic' ? 'Anthropic' : 'OpenAI';
      const sent = send(client, upstream, { fields, providerTools: 'Drop' });
      const { tools, tool_choice: choice, parallel_tool_calls: parallel, web_search_options: search } = sent.body;
      assert.deepEqual(
        JSON.parse(JSON.stringify({ tools, tool_choice: choice, parallel, search })),
        JSON.parse(JSON.stringify({ tools: expected['tools'], tool_choice: expected['tool_choice'] })),
      );
      if (expected['input']) assert.deepEqual(sent.body['input'], expected['input']);
      assert.deepEqual(sent.dropped, dropped);
      const asked = { model: 'm', messages: [{ role: 'user', content: 'x' }], ...fields };
      assert.notDeepEqual(droppableOf(client, asked), []);
      assert.deepEqual(droppableOf(client, sent.body), [], 'nothing without a price is left');
    });
  }
  it('are left out by Drop, and everything else is unchanged', () => {
    const fields = { tools: [OWN, { type: 'shell', environment: { type: 'local' } }], tool_choice: 'auto', x: 1 };
    const before = send('Responses', 'OpenAI', { fields });
    assert.deepEqual(send('Responses', 'OpenAI', { fields, providerTools: 'Drop' }), before);
  });
  it("are left out without a change of numbers' digits", () => {
    const text =
      '{"model":"m","input":"x","tools":[{"type":"mcp"},{"type":"function","name":"f",' +
      '"parameters":{"minimum":12345678901234567890}}]}';
    const converter = providerOf('OpenAI').endpoints?.responses;
    const { body } = converter!.request(Buffer.from(text), JSON.parse(text), {
      upstreamModel: 'm',
      maxOutputTokens: undefined,
      outputLimitField: 'max_tokens',
      providerTools: 'Drop',
    });
    assert.match(Buffer.from(body).toString('utf8'), /"minimum":12345678901234567890/);
  });
  for (const providerTools of [undefined, 'Allow', 'Refuse'] as const)
    it(`are kept by ${providerTools ?? 'the default'}`, () => {
      const sent = send('Responses', 'OpenAI', {
        fields: { tools: [SEARCH] },
        ...(providerTools && { providerTools }),
      });
      assert.deepEqual([sent.body['tools'], sent.dropped], [[SEARCH], undefined]);
    });
});

describe('provider tools of a request that is converted', () => {
  const MESSAGES = {
    tools: [MESSAGES_SEARCH, MESSAGES_TOOL],
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
          { type: 'text', text: 'found' },
        ],
      },
      { role: 'user', content: 'y' },
    ],
  };
  const RESPONSES = { tools: [OWN, SEARCH] };
  const CHAT = { tools: [CHAT_TOOL, { type: '$web_search' }], web_search_options: {} };

  for (const providerTools of [undefined, 'Drop', 'Allow'] as const)
    it(`are left out and named by ${providerTools ?? 'the default'}`, () => {
      const plan = { ...(providerTools && { providerTools }) };
      assert.deepEqual(send('Anthropic', 'OpenAI', { fields: MESSAGES, ...plan }).dropped, [
        'tools[0] (web_search_20250305)',
        'messages[1].content[0] (server_tool_use)',
        'messages[1].content[1] (web_search_tool_result)',
      ]);
      for (const upstream of ['OpenAI', 'Anthropic'] as const)
        assert.deepEqual(send('Responses', upstream, { fields: RESPONSES, convert: true, ...plan }).dropped, [
          'tools[1] (web_search)',
        ]);
    });
  it('are refused by Refuse, which names the first', () => {
    for (const [client, fields, fault] of [
      ['Anthropic', MESSAGES, 'unsupported_parameter tools[0].type'],
      ['Anthropic', { messages: MESSAGES.messages }, 'unsupported_parameter messages[1].content[0].type'],
      ['Responses', RESPONSES, 'unsupported_parameter tools[1].type'],
    ] as const)
      assert.equal(
        faultOf(() => send(client, 'OpenAI', { fields, convert: true, providerTools: 'Refuse' })),
        fault,
      );
  });
  it('are left out of tool_choice too', () => {
    const fields = { tools: [MESSAGES_SEARCH, MESSAGES_TOOL], tool_choice: { type: 'tool', name: 'web_search' } };
    const { body, dropped } = send('Anthropic', 'OpenAI', { fields });
    assert.deepEqual([body['tool_choice'], dropped], [undefined, ['tools[0] (web_search_20250305)', 'tool_choice']]);
  });
  it('are refused if Anthropic defines them and the client runs them', () => {
    const fields = { tools: [{ type: 'bash_20250124', name: 'bash' }] };
    assert.equal(
      faultOf(() => send('Anthropic', 'OpenAI', { fields, providerTools: 'Drop' })),
      'unsupported_parameter tools[0].type',
    );
  });
  it('are unknown to chat completions, so only Drop leaves theirs out', () => {
    assert.deepEqual(send('OpenAI', 'Anthropic', { fields: CHAT, providerTools: 'Drop' }).dropped, [
      'web_search_options',
      'tools[1] ($web_search)',
    ]);
    for (const [fields, param] of [
      [{ web_search_options: {} }, 'web_search_options'],
      [{ tools: CHAT.tools }, 'tools[1].type'],
    ] as const)
      assert.equal(
        faultOf(() => send('OpenAI', 'Anthropic', { fields })),
        `unsupported_parameter ${param}`,
      );
  });
});
