/**
 * A text-only model gets no image at any place: in every dialect, in tool results, in documents, in earlier answers, in
 * fields of compatible providers. The same request to a model with image input is not refused for it.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const DATA_URL = `data:image/png;base64,${PNG}`;
const URL_PART = { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } };
const BLOCK = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };

const PLATFORM = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: makers}
spec:
  models:
  - {name: text-to-video, endpoints: [Videos]}
  - {name: any-to-video, endpoints: [Videos], inputs: [Text, Image]}
  - {name: text-to-image, endpoints: [Images]}
  - {name: any-to-image, endpoints: [Images], inputs: [Text, Image]}
  - {name: chat-text, contextTokens: 100000, maxOutputTokens: 100, allow: [FileReferences, ServerTools]}
  - {name: chat-any, contextTokens: 100000, maxOutputTokens: 100, inputs: [Text, Image],
      allow: [FileReferences, ServerTools]}
  channels: [{name: only, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: makers}
spec:
  models:
  - {name: text-to-video, vendor: V, quotaType: Request, requestUsd: "0.1"}
  - {name: any-to-video, vendor: V, quotaType: Request, requestUsd: "0.1"}
  - {name: text-to-image, vendor: V, quotaType: Request, requestUsd: "0.1"}
  - {name: any-to-image, vendor: V, quotaType: Request, requestUsd: "0.1"}
  - {name: chat-text, vendor: V, quotaType: Token, modelRatio: "1"}
  - {name: chat-any, vendor: V, quotaType: Token, modelRatio: "1"}
`;

interface Place {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The field that the refusal names. */
  readonly param: string;
}

const user = (content: unknown): object => ({ role: 'user', content });

function chatPlace(messages: readonly object[], param: string): Place {
  return { path: '/v1/chat/completions', body: { messages }, param };
}

function messagePlace(more: Readonly<Record<string, unknown>>, param: string): Place {
  return { path: '/v1/messages', body: { max_tokens: 10, messages: [user('hi')], ...more }, param };
}

function responsePlace(item: object, param: string): Place {
  return { path: '/v1/responses', body: { input: [{ role: 'user', content: 'hi' }, item] }, param };
}

function toolResult(content: unknown): object {
  return {
    messages: [
      user('hi'),
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }],
      },
      user([{ type: 'tool_result', tool_use_id: 't', content }]),
    ],
  };
}

const CHAT_PLACES: Readonly<Record<string, Place>> = {
  'a part by URL': chatPlace([user([{ type: 'text', text: 'see' }, URL_PART])], 'messages[0].content[1]'),
  'a part as data': chatPlace([user([{ type: 'image_url', image_url: { url: DATA_URL } }])], 'messages[0].content[0]'),
  'a part whose URL is a text': chatPlace(
    [user([{ type: 'image_url', image_url: DATA_URL }])],
    'messages[0].content[0]',
  ),
  'a part without a type': chatPlace([user([{ image_url: { url: DATA_URL } }])], 'messages[0].content[0]'),
  'a part of the newer API': chatPlace(
    [user([{ type: 'input_image', image_url: DATA_URL }])],
    'messages[0].content[0]',
  ),
  'a part that is no list': chatPlace([{ role: 'user', content: URL_PART }], 'messages[0].content'),
  "a part of the system's": chatPlace([{ role: 'system', content: [URL_PART] }, user('hi')], 'messages[0].content[0]'),
  "a tool's result": chatPlace(
    [
      user('hi'),
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: [URL_PART] },
    ],
    'messages[2].content[0]',
  ),
  'an earlier answer': chatPlace(
    [user('hi'), { role: 'assistant', content: 'here', images: [URL_PART] }],
    'messages[1].images[0]',
  ),
  "a file with an image's data URL": chatPlace(
    [user([{ type: 'file', file: { filename: 'a.png', file_data: DATA_URL } }])],
    'messages[0].content[0]',
  ),
  "a file with an image's bytes": chatPlace(
    [user([{ type: 'file', file: { filename: 'a.pdf', file_data: PNG } }])],
    'messages[0].content[0]',
  ),
  'images beside a file': chatPlace(
    [user([{ type: 'file', file: { filename: 'a.txt', file_data: 'YQ==' }, images: ['https://example.com/cat.png'] }])],
    'messages[0].content[0]',
  ),
  "a block of Anthropic's": chatPlace([user([BLOCK])], 'messages[0].content[0]'),
  "a block within a block of Anthropic's": chatPlace(
    [user([{ type: 'tool_result', content: [BLOCK] }])],
    'messages[0].content[0].content[0]',
  ),
  'a part of a new type': chatPlace(
    [
      user([
        {
          type: 'collage',
          tiles: [{ mime_type: 'image/webp', bytes: 'AA==' }],
        },
      ]),
    ],
    'messages[0].content[0].tiles[0]',
  ),
};

const MESSAGE_PLACES: Readonly<Record<string, Place>> = {
  'a block': messagePlace({ messages: [user([BLOCK])] }, 'messages[0].content[0]'),
  'an image beside a document': messagePlace(
    {
      messages: [
        user([
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'x' },
            image_url: 'https://example.com/cat.png',
          },
        ]),
      ],
    },
    'messages[0].content[0]',
  ),
  "an image in a document's source": messagePlace(
    { messages: [user([{ type: 'document', source: { type: 'text', data: 'x', image: BLOCK } }])] },
    'messages[0].content[0].source',
  ),
  'a block by URL': messagePlace(
    { messages: [user([{ type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } }])] },
    'messages[0].content[0]',
  ),
  'a block by file': messagePlace(
    { messages: [user([{ type: 'image', source: { type: 'file', file_id: 'file_1' } }])] },
    'messages[0].content[0]',
  ),
  "the system's block": messagePlace({ system: [{ type: 'text', text: 'x' }, BLOCK] }, 'system[1]'),
  "a tool's result": messagePlace(
    toolResult([{ type: 'text', text: 'x' }, BLOCK]) as Place['body'],
    'messages[2].content[0].content[1]',
  ),
  "a tool's result that is no list": messagePlace(toolResult(BLOCK) as Place['body'], 'messages[2].content[0].content'),
  'a document of blocks': messagePlace(
    { messages: [user([{ type: 'document', source: { type: 'content', content: [BLOCK] } }])] },
    'messages[0].content[0].source.content[0]',
  ),
  "a document in a tool's result": messagePlace(
    toolResult([
      {
        type: 'document',
        source: { type: 'content', content: [BLOCK] },
      },
    ]) as Place['body'],
    'messages[2].content[0].content[0].source.content[0]',
  ),
  'a document that is a picture': messagePlace(
    { messages: [user([{ type: 'document', source: { type: 'base64', media_type: 'image/png', data: PNG } }])] },
    'messages[0].content[0].source',
  ),
  'a document that says it is a PDF': messagePlace(
    { messages: [user([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PNG } }])] },
    'messages[0].content[0].source',
  ),
  "a result of the provider's tool": messagePlace(
    {
      messages: [
        user('hi'),
        { role: 'assistant', content: [{ type: 'mcp_tool_result', tool_use_id: 't', content: [BLOCK] }] },
      ],
    },
    'messages[1].content[0].content[0]',
  ),
  'a block of a new type': messagePlace(
    { messages: [user([{ type: 'gallery', pictures: [{ media_type: 'image/gif', data: 'R0lGODlh' }] }])] },
    'messages[0].content[0].pictures[0]',
  ),
  "a part of OpenAI's": messagePlace({ messages: [user([URL_PART])] }, 'messages[0].content[0]'),
};

const RESPONSE_PLACES: Readonly<Record<string, Place>> = {
  'a part by URL': responsePlace(
    {
      role: 'user',
      content: [{ type: 'input_image', image_url: 'https://example.com/cat.png' }],
    },
    'input[1].content[0]',
  ),
  'a part as data': responsePlace(
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: DATA_URL },
      ],
    },
    'input[1].content[1]',
  ),
  'a part by file': responsePlace(
    { role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] },
    'input[1].content[0]',
  ),
  "a part of chat's": responsePlace({ role: 'user', content: [URL_PART] }, 'input[1].content[0]'),
  "a file with an image's data URL": responsePlace(
    { role: 'user', content: [{ type: 'input_file', filename: 'a', file_data: DATA_URL }] },
    'input[1].content[0]',
  ),
  'an image beside a file': responsePlace(
    { role: 'user', content: [{ type: 'input_file', file_data: 'YQ==', image_url: 'https://example.com/cat.png' }] },
    'input[1].content[0]',
  ),
  'an image beside a call': responsePlace(
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', images: ['https://example.com/cat.png'] },
    'input[1]',
  ),
  'an image beside reasoning': responsePlace(
    { type: 'reasoning', encrypted_content: 'x', summary: [], content: [{ type: 'input_image', image_url: DATA_URL }] },
    'input[1].content[0]',
  ),
  "a file with an image's bytes": responsePlace(
    { role: 'user', content: [{ type: 'input_file', filename: 'a.pdf', file_data: PNG }] },
    'input[1].content[0]',
  ),
  "a function's output": responsePlace(
    {
      type: 'function_call_output',
      call_id: 'c',
      output: [{ type: 'input_image', image_url: DATA_URL }],
    },
    'input[1].output[0]',
  ),
  "a custom tool's output": responsePlace(
    {
      type: 'custom_tool_call_output',
      call_id: 'c',
      output: [{ type: 'input_image', image_url: DATA_URL }],
    },
    'input[1].output[0]',
  ),
  'a screenshot': responsePlace(
    {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: DATA_URL },
    },
    'input[1].output',
  ),
  'a picture that was made before': responsePlace(
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG },
    'input[1]',
  ),
  'a picture that was made before, by its id': responsePlace(
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: null },
    'input[1]',
  ),
  'an output of code': responsePlace(
    {
      type: 'code_interpreter_call',
      id: 'ci',
      code: 'x',
      container_id: 'c',
      outputs: [{ type: 'image', url: 'https://example.com/plot.png' }],
    },
    'input[1].outputs[0]',
  ),
  'an item of a new type': responsePlace({ type: 'sketch', layers: [{ image_url: DATA_URL }] }, 'input[1].layers[0]'),
};

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'makers.yaml': PLATFORM(openaiUrl) }) });
});
afterAll(() => stack.stop());

function assertRefused(answer: Answer, param: string): void {
  assert.equal(answer.status, 400, answer.text);
  const { error } = answer.json();
  assert.match(error.message, /takes text only/);
  // Anthropic's dialect has neither code nor param
  if (error.type !== undefined && error.code !== undefined)
    assert.deepEqual([error.code, error.param], ['unsupported_image', param]);
}

for (const [name, places] of [
  ['chat completions', CHAT_PLACES],
  ['messages', MESSAGE_PLACES],
  ['responses', RESPONSE_PLACES],
] as const) {
  describe(`an image in ${name}`, () => {
    for (const [what, { path, body, param }] of Object.entries(places)) {
      it(`is refused as ${what}`, async () => {
        assertRefused(await post(stack, path, { model: 'chat-text', ...body }), param);
        assert.doesNotMatch((await post(stack, path, { model: 'chat-any', ...body })).text, /takes text only/);
      });
    }
  });
}

describe('counting tokens', () => {
  it('refuses what a call would refuse', async () => {
    assertRefused(
      await post(stack, '/v1/messages/count_tokens', { model: 'chat-text', messages: [user([BLOCK])] }),
      '',
    );
  });
});

describe('an image to start from', () => {
  const fields: Readonly<Record<string, unknown>> = {
    input_reference: { image_url: DATA_URL },
    image: DATA_URL,
    image_url: 'https://example.com/a.png',
    images: [DATA_URL],
    first_frame_image: 'https://example.com/a.png',
    content: [URL_PART],
    extra: { start: { image_url: DATA_URL } },
  };
  for (const [path, maker] of [
    ['/v1/videos', 'video'],
    ['/v1/images/generations', 'image'],
  ] as const) {
    for (const [field, value] of Object.entries(fields)) {
      it(`is refused for ${maker}s in the field ${field}`, async () => {
        const answer = await post(stack, path, { model: `text-to-${maker}`, prompt: 'a cat', [field]: value });
        assert.deepEqual([answer.status, answer.json().error.code], [400, 'unsupported_image'], answer.text);
        assert.ok(String(answer.json().error.param).startsWith(field));
        assert.doesNotMatch(
          (await post(stack, path, { model: `any-to-${maker}`, prompt: 'a cat', [field]: value })).text,
          /takes text only/,
        );
      });
    }
  }
  it.each([
    ['input_reference', new Blob([Buffer.from(PNG, 'base64')], { type: 'image/png' })],
    ['parameters[image_url]', 'https://example.com/a.png'],
    ['input_reference.image_url', DATA_URL],
    ['image.url', 'https://example.com/a.png'],
    ['[image_url]', 'https://example.com/a.png'],
  ])('is refused for videos in the field %s of a form', async (name, picture) => {
    for (const [model, refused] of [
      ['text-to-video', true],
      ['any-to-video', false],
    ] as const) {
      const form = new FormData();
      form.set('model', model);
      form.set('prompt', 'a cat');
      if (typeof picture === 'string') form.set(name, picture);
      else form.set(name, picture, 'a.png');
      const response = await fetch(`${stack.gateway.url}/v1/videos`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.main}` },
        body: form,
      });
      assert.equal((await response.text()).includes('unsupported_image'), refused);
    }
  });
  it('is not assumed if only the prompt mentions one', async () => {
    const answer = await post(stack, '/v1/videos', {
      model: 'text-to-video',
      prompt: `image_url: ${DATA_URL}`,
      image: null,
      images: [],
      mask: 3,
      image_url: '',
      size: '1280x720',
    });
    assert.doesNotMatch(answer.text, /unsupported_image/);
  });
});
