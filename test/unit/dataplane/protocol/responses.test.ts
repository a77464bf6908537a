/** Responses: the facts of requests, refusals, and the bill for each end of a response. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ChatFacts } from '../../../../dataplane/protocol/call-facts.ts';
import type { StreamConverter, StreamEnd } from '../../../../dataplane/protocol/converter.ts';
import { boundInput } from '../../../../dataplane/protocol/estimate.ts';
import { readConversationFacts } from '../../../../dataplane/protocol/openai/conversations.ts';
import { readResponseFacts } from '../../../../dataplane/protocol/openai/response-facts.ts';
import { responsesConverter } from '../../../../dataplane/protocol/openai/responses.ts';
import { writeEvent } from '../../../../dataplane/protocol/sse.ts';
import { pattern } from '../../../support/pattern.ts';

const USER = { role: 'user', content: 'hi' };

function facts(more: object): ChatFacts {
  const request = { model: 'm', input: 'hi', ...more };
  return readResponseFacts(Buffer.from(JSON.stringify(request)), request);
}

describe('a request', () => {
  it('has a bounded cost', () => {
    const { maxOutputTokens, answers, stream, fixedOutput, units, textBytes } = facts({
      max_output_tokens: 500,
      stream: true,
    });
    assert.deepEqual([maxOutputTokens, answers, stream, fixedOutput, units], [500, 1, true, false, 1]);
    assert.equal(textBytes, Buffer.byteLength('{"model":"m","input":"hi","max_output_tokens":500,"stream":true}'));
    assert.equal(facts({ tools: [{ type: 'function', name: 'f' }] }).fixedOutput, true);
    assert.equal(facts({ text: { format: { type: 'json_schema', name: 'x', schema: {} } } }).fixedOutput, true);
    assert.equal(facts({ text: { format: { type: 'text' }, verbosity: 'low' } }).fixedOutput, false);
    assert.equal(facts({ prompt: { id: 'pmpt_1' } }).fixedOutput, true);
  });
  it("has the images and files of a prompt's variables", () => {
    const { images, unbounded } = facts({
      prompt: {
        id: 'pmpt_1',
        variables: {
          a: 'text',
          b: { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
          c: { type: 'input_file', file_id: 'file_1' },
        },
      },
    });
    assert.equal(images, 1);
    assert.deepEqual(
      unbounded.map(({ feature }) => feature),
      ['FileReferences', 'PromptTemplates'],
    );
  });
  it('may have instructions only', () => assert.equal(facts({ input: undefined, instructions: 'say hi' }).units, 1));
  it('does not count the data of its images', () => {
    const data = 'A'.repeat(50_000);
    const { images, textBytes } = facts({
      input: [
        {
          role: 'user',
          content: [{ type: 'input_image', image_url: `data:image/png;base64,${data}` }],
        },
      ],
    });
    assert.equal(images, 1);
    assert.ok(textBytes < 300);
  });
  it('may fill the context with a reasoning item that the provider stores', () => {
    const model = { contextTokens: 10_000, imageTokens: 1 };
    assert.equal(boundInput(facts({ input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }), model), 10_000);
    assert.ok(
      boundInput(facts({ input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' }] }), model) <
        1000,
    );
    assert.equal(boundInput(facts({ input: [{ type: 'brand_new_item' }] }), model), 10_000);
    assert.equal(
      boundInput(
        facts({
          input: [
            {
              role: 'user',
              content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' }],
            },
          ],
        }),
        model,
      ),
      10_000,
    );
  });
  it('of plain items is bounded by its bytes', () => {
    const input = [
      {
        role: 'user',
        content: 'a',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations: [] }] },
      {
        type: 'function_call',
        call_id: 'c',
        name: 'f',
        arguments: '{}',
      },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'done' }] },
      {
        type: 'shell_call_output',
        call_id: 'c',
        output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ];
    assert.deepEqual([facts({ input }).files, facts({ input }).images, facts({ input }).unbounded], [0, 0, []]);
  });

  const unbounded: readonly [what: string, more: object, feature: string, param: string][] = [
    ['a search', { tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }] }, 'ServerTools', 'tools[1].type'],
    [
      'a remote server of tools',
      {
        tools: [
          {
            type: 'mcp',
            server_label: 'x',
            server_url: 'https://x',
          },
        ],
      },
      'ServerTools',
      'tools[0].type',
    ],
    [
      'code at the provider',
      {
        tools: [
          {
            type: 'code_interpreter',
            container: { type: 'auto' },
          },
        ],
      },
      'ServerTools',
      'tools[0].type',
    ],
    ['pictures by a tool', { tools: [{ type: 'image_generation' }] }, 'ServerTools', 'tools[0].type'],
    [
      'a shell at the provider',
      {
        tools: [
          {
            type: 'shell',
            environment: { type: 'container_auto' },
          },
        ],
      },
      'ServerTools',
      'tools[0].type',
    ],
    ['a shell nobody knows where', { tools: [{ type: 'shell' }] }, 'ServerTools', 'tools[0].type'],
    ['a tool of a new type', { tools: [{ type: 'oracle' }] }, 'ServerTools', 'tools[0].type'],
    [
      'a search in a namespace',
      {
        tools: [
          {
            type: 'namespace',
            name: 'n',
            tools: [{ type: 'web_search' }],
          },
        ],
      },
      'ServerTools',
      'tools[0].tools[0].type',
    ],
    [
      'a search that joins later',
      {
        input: [
          {
            type: 'additional_tools',
            role: 'developer',
            tools: [{ type: 'web_search' }],
          },
        ],
      },
      'ServerTools',
      'input[0].tools[0].type',
    ],
    [
      'a summary by the provider',
      {
        context_management: [
          {
            type: 'compaction',
            compact_threshold: 1000,
          },
        ],
      },
      'ServerTools',
      'context_management',
    ],
    [
      'a file that is kept',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_file', file_id: 'file_1' }],
          },
        ],
      },
      'FileReferences',
      'input[0].content[0].file_id',
    ],
    [
      'a file by URL',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_file', file_url: 'https://x/y.pdf' }],
          },
        ],
      },
      'FileReferences',
      'input[0].content[0].file_url',
    ],
    ['a prompt that is kept', { prompt: { id: 'pmpt_1' } }, 'PromptTemplates', 'prompt'],
    [
      'sound',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }],
          },
        ],
      },
      'Audio',
      'input[0].content[0]',
    ],
  ];
  for (const [what, more, feature, param] of unbounded)
    it(`for ${what} has no bound`, () =>
      assert.deepEqual(
        facts(more).unbounded.map((use) => [use.feature, use.param]),
        [[feature, param]],
      ));
  it("for a more expensive tier is bounded by that tier's price", () => {
    const { unbounded: uses, serviceTier } = facts({ service_tier: 'priority' });
    assert.deepEqual(uses, [{ feature: 'ServiceTiers', param: 'service_tier', needs: { serviceTier: 'priority' } }]);
    assert.equal(serviceTier, 'priority');
  });
  it('for a summary now is bounded as a compaction: its limit stays, and what the provider reports is billed', () => {
    const { unbounded: uses, compacts, fixedOutput } = facts({ input: [USER, { type: 'compaction_trigger' }] });
    assert.deepEqual([uses, compacts, fixedOutput], [[], true, true]);
    const kept = { items: [USER, { type: 'compaction_trigger' }] };
    assert.throws(
      () => readConversationFacts(Buffer.from(JSON.stringify(kept)), kept),
      (error) => error instanceof RequestFault && error.param === 'items[1].type',
    );
  });
  it('for what the provider keeps may fill the context', () => {
    for (const more of [
      { previous_response_id: 'mgw1_response_AAAA' },
      { conversation: 'mgw1_conversation_AAAA' },
      { conversation: { id: 'mgw1_conversation_AAAA' } },
      { prompt: { id: 'pmpt_1' } },
    ])
      assert.equal(facts(more).files, 1);
  });
  for (const tool of ['function', 'custom', 'apply_patch', 'local_shell', 'computer_use_preview'])
    it(`for the client's tool ${tool} has a bound`, () =>
      assert.deepEqual(facts({ tools: [{ type: tool, name: 'x' }] }).unbounded, []));
  it("for the client's own shell and search has a bound", () => {
    assert.deepEqual(
      facts({
        tools: [
          { type: 'shell', environment: { type: 'local' } },
          { type: 'tool_search', execution: 'client' },
        ],
        service_tier: 'auto',
      }).unbounded,
      [],
    );
  });

  const refused: readonly [what: string, more: object, param: string][] = [
    ['an earlier response', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation', { conversation: { id: 'conv_1' } }, 'conversation'],
    ['an item by reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
    ['an item by nothing but its id', { input: [{ id: 'msg_1' }] }, 'input[0]'],
    ['an input that is a number', { input: 7 }, 'input'],
    ['an item that is a text', { input: ['hi'] }, 'input[0]'],
    ['no output', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['no model', { model: '' }, 'model'],
  ];
  for (const [what, more, param] of refused)
    it(`for ${what} is refused`, () =>
      assert.throws(
        () => facts(more),
        (error) => error instanceof RequestFault && error.param === param,
      ));
  it('that disables all of that is accepted', () => {
    assert.deepEqual(
      facts({
        previous_response_id: null,
        conversation: null,
        prompt: null,
        background: false,
        store: true,
        metadata: {},
        include: ['reasoning.encrypted_content'],
      }).unbounded,
      [],
    );
  });
  it('is forwarded with its limit, and otherwise unchanged', () => {
    const body = '{ "model":"m", "input":"hi", "x":1.50 }';
    const plan = { upstreamModel: 'm', maxOutputTokens: 300, outputLimitField: 'max_tokens' } as const;
    const { path, body: sent } = responsesConverter.request(Buffer.from(body), JSON.parse(body), plan);
    assert.deepEqual(
      [path, Buffer.from(sent).toString()],
      ['/responses', '{ "model":"m", "input":"hi", "x":1.50,"max_output_tokens":300 }'],
    );
    const request = '{"model":"m","max_output_tokens":9000}';
    assert.equal(
      Buffer.from(
        responsesConverter.request(Buffer.from(request), JSON.parse(request), { ...plan, upstreamModel: 'u' }).body,
      ).toString(),
      '{"model":"u","max_output_tokens":300}',
    );
  });
});

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 107,
};
const OUTPUT = [
  {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'hello' }],
  },
  { type: 'function_call', name: 'f', arguments: '{}', call_id: 'c' },
];

describe('a whole answer', () => {
  const whole = (response: object): ReturnType<typeof responsesConverter.response> =>
    responsesConverter.response(Buffer.from(JSON.stringify(response)));
  it('is billed by its usage', () => {
    const { meter, failed } = whole({ id: 'r', status: 'completed', output: OUTPUT, usage: USAGE });
    assert.deepEqual(meter, {
      reported: {
        input: 40,
        cached: 60,
        cacheWrite5m: undefined,
        cacheWrite1h: undefined,
        output: 7,
        details: { reasoning: 3 },
      },
      final: true,
      outputBytes: 8,
    });
    assert.equal(failed, false);
  });
  it('without usage is estimated by its text', () =>
    assert.deepEqual(
      [
        whole({
          status: 'completed',
          output: OUTPUT,
        }).meter.final,
        whole({ status: 'completed', output: OUTPUT }).meter.outputBytes,
      ],
      [false, 8],
    ));
  it('that has failed costs its usage, or nothing', () => {
    assert.equal(whole({ status: 'failed', output: [], usage: null, error: { code: 'x', message: 'y' } }).failed, true);
    assert.equal(whole({ status: 'failed', output: [], usage: USAGE }).failed, false);
  });
  it('of another kind is invalid', () => assert.throws(() => whole({ choices: [] }), SyntaxError));
});

describe('a stream', () => {
  const started = (): StreamConverter =>
    responsesConverter.stream({
      wantsStreamUsage: true,
      model: 'm',
      estimatedInputTokens: 5,
      id: 'req_1',
      createdSeconds: 0,
      nowSeconds: () => 0,
    });
  const event = (type: string, more: object = {}): Buffer =>
    writeEvent(JSON.stringify({ type, sequence_number: 1, ...more }), type);
  const TEXT = event('response.output_text.delta', { item_id: 'i', delta: 'hello' });
  const HEAD = [
    event('response.created', { response: { id: 'r', status: 'in_progress', output: [], usage: null } }),
    TEXT,
  ];

  // a test reads what the event is to hold, and fails if it is absent
  // oxlint-disable-next-line typescript/no-explicit-any
  const lastOf = (bytes: Uint8Array): any => JSON.parse(/^data: (.*)$/m.exec(Buffer.from(bytes).toString())?.[1] ?? '');

  /** In chunks of a few bytes each. */
  function run(events: readonly Buffer[]): { sent: string; end: StreamEnd; converter: StreamConverter } {
    const converter = started();
    const bytes = Buffer.concat(events);
    let sent = '';
    for (let at = 0; at < bytes.length; at += 5)
      sent += Buffer.from(converter.push(bytes.subarray(at, at + 5))).toString();
    return { sent, end: converter.end(), converter };
  }

  for (const status of ['completed', 'incomplete'] as const) {
    it(`ends with response.${status}, billed by it`, () => {
      const last = event(`response.${status}`, { response: { id: 'r', status, output: OUTPUT, usage: USAGE } });
      const { sent, end, converter } = run([...HEAD, last]);
      assert.equal(sent, Buffer.concat(HEAD).toString());
      assert.ok(end.outcome === 'Complete' && Buffer.from(end.last).equals(last));
      assert.deepEqual(
        [
          converter.meter.final,
          converter.meter.reported.input,
          converter.meter.reported.cached,
          converter.meter.reported.output,
        ],
        [true, 40, 60, 7],
      );
    });
  }
  it('that fails is billed by its last event, and reveals no secret', () => {
    const error = { code: 'server_error', message: 'key sk-proj-abcdefgh1234 at https://internal.example.com/x' };
    const { end, converter } = run([
      ...HEAD,
      event('response.failed', { response: { id: 'r', status: 'failed', error, usage: USAGE, output: [] } }),
    ]);
    assert.ok(end.outcome === 'Failed');
    const last = Buffer.from(end.last).toString();
    assert.match(
      last,
      pattern(
        /^event: response\.failed\ndata: \{"type":"response.failed","sequence_number":1,/,
        /"response":\{"id":"r","status":"failed"/,
      ),
    );
    assert.doesNotMatch(last, /sk-proj|internal\.example/);
    assert.deepEqual([converter.meter.final, converter.meter.reported.output], [true, 7]);
  });
  for (const [form, error] of [
    ['an event', event('error', { code: 'rate_limit_exceeded', message: 'slow down', param: null })],
    ['an envelope', Buffer.from('data: {"error":{"code":"rate_limit_exceeded","message":"slow down"}}\n\n')],
  ] as const)
    it(`that ends with an error (${form}) ends with the response as failed, whose code is the error's`, () => {
      const { end, converter } = run([...HEAD, error]);
      assert.ok(end.outcome === 'Failed');
      assert.deepEqual(lastOf(end.last), {
        type: 'response.failed',
        sequence_number: 2,
        response: {
          id: 'r',
          status: 'failed',
          output: [],
          usage: null,
          error: { code: 'rate_limit_exceeded', message: 'slow down' },
        },
      });
      assert.deepEqual([converter.meter.final, converter.meter.outputBytes], [false, 5]);
    });
  it("keeps the codes that clients know of the provider's own", () => {
    const { end } = run([...HEAD, event('error', { code: 'server_is_overloaded', message: 'busy', param: null })]);
    assert.ok(end.outcome === 'Failed');
    assert.equal(lastOf(end.last).response.error.code, 'server_is_overloaded');
  });
  it('that breaks off can be ended as failed, also before its first event', () => {
    const failure = { code: 'server_error', message: 'broke off' };
    const failed = (events: readonly Buffer[]): string => Buffer.from(run(events).converter.fail!(failure)).toString();
    assert.match(
      failed(HEAD),
      /^event: response\.failed\ndata: .*"id":"r","status":"failed",.*"error":{"code":"server_error"/,
    );
    assert.match(failed([]), /^event: response\.created\n.*\n\nevent: response\.failed\ndata: .*"sequence_number":1,/s);
  });
  it('of a response that goes on in the background ends with an error event', () => {
    const made = event('response.created', { response: { id: 'r', status: 'in_progress', background: true } });
    const { converter } = run([made]);
    const last = Buffer.from(converter.fail!({ code: 'server_error', message: 'broke off' })).toString();
    assert.match(last, /^event: error\ndata: {"type":"error","code":"upstream_error","message":"broke off"/);
  });
  it('that only stops was cut off', () => {
    const { end, converter } = run(HEAD);
    assert.deepEqual([end.outcome, converter.meter.outputBytes], ['Cut', 5]);
  });
  it('that is cut off after [DONE] was cut off all the same', () =>
    assert.equal(run([...HEAD, writeEvent('[DONE]')]).end.outcome, 'Cut'));
  it('passes on unknown events and comments', () => {
    const odd = [Buffer.from(': ping\n\n'), event('response.brand_new', { x: 1 }), Buffer.from('data: not json\n\n')];
    assert.equal(run(odd).sent, Buffer.concat(odd).toString());
  });
  it('counts arguments and reasoning as they arrive', () => {
    const { converter } = run([
      event('response.function_call_arguments.delta', { delta: '{"a":1}' }),
      event('response.reasoning_summary_text.delta', { delta: 'hm' }),
    ]);
    assert.equal(converter.meter.outputBytes, 9);
  });
});
