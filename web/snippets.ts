/** [P] Example calls of a model for its endpoint, in curl, Python and TypeScript, that can be copied as they are. */
import type { Endpoint } from './pricing/model-facts.ts';

interface SnippetOptions {
  /** The gateway's URL without a path. */
  readonly url: string;
  /** Undefined: the snippets read it from the environment variable MGW_KEY. */
  readonly key?: string | undefined;
  readonly model: string;
  readonly endpoint: Endpoint;
  /** Its videos are priced by the second, so that a call must say how many. */
  readonly bySecond?: boolean;
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/** Placeholders for an unknown URL and an unknown model. */
export const EXAMPLE_URL = 'https://gateway.example';
export const EXAMPLE_MODEL = 'MODEL';

/** The parts that the snippets of one call share, in each language. */
interface Parts {
  /** The gateway's URL with /v1. */
  readonly base: string;
  readonly v1: string;
  readonly model: string;
  readonly bySecond: boolean;
  readonly python: { readonly imports: string; readonly key: string };
  readonly typescript: { readonly key: string };
  /** curl's command; `body` follows the model. */
  readonly post: (path: string, body: string) => string;
  /** curl's command with a form that has a file. */
  readonly postFile: (path: string) => string;
}

/** Example calls, the most common first. */
export function snippetsOf(options: SnippetOptions): Snippet[] {
  return BY_ENDPOINT[options.endpoint](partsOf(options));
}

/** Set-ups of coding tools for a chat model, with the key in the environment variable MGW_KEY. */
export function toolSnippetsOf({ url, model }: Pick<SnippetOptions, 'url' | 'model'>): Snippet[] {
  const base = url.replace(/\/+$/, '');
  const [quotedModel, quotedV1] = [JSON.stringify(model), JSON.stringify(`${base}/v1`)];
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      code: `export ANTHROPIC_BASE_URL=${shell(base)}
export ANTHROPIC_AUTH_TOKEN="$MGW_KEY"
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${shell(model)}
claude --model ${shell(model)}`,
    },
    {
      id: 'codex',
      label: 'Codex, in ~/.codex/config.toml',
      code: `model = ${quotedModel}
model_provider = "gateway"
web_search = "disabled"

[model_providers.gateway]
name = "gateway"
base_url = ${quotedV1}
env_key = "MGW_KEY"
wire_api = "responses"`,
    },
    {
      id: 'cursor',
      label: 'Cursor, under Settings, Models',
      code: `OpenAI API Key            the key, as in $MGW_KEY
Override OpenAI Base URL  ${base}/v1
Add model                 ${model}`,
    },
  ];
}

const BY_ENDPOINT: Readonly<Record<Endpoint, (parts: Parts) => Snippet[]>> = {
  Chat: (parts) => {
    const { model, post, base, python, typescript } = parts;
    const messages = '[{"role": "user", "content": "Hello"}]';
    return [
      { id: 'curl', label: 'curl', code: post('/v1/chat/completions', `"messages": ${messages}`) },
      {
        id: 'openai-python',
        label: 'OpenAI SDK, Python',
        code: `${openaiPython(parts)}
completion = client.chat.completions.create(
    model=${model},
    messages=${messages},
)
print(completion.choices[0].message.content)`,
      },
      {
        id: 'openai-ts',
        label: 'OpenAI SDK, TypeScript',
        code: `${openaiTypescript(parts)}
const completion = await client.chat.completions.create({
  model: ${model},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(completion.choices[0].message.content);`,
      },
      {
        id: 'anthropic-python',
        label: 'Anthropic SDK, Python',
        code: `${python.imports}from anthropic import Anthropic

client = Anthropic(
    base_url=${base},
    api_key=${python.key},
)
message = client.messages.create(
    model=${model},
    max_tokens=1024,
    messages=${messages},
)
print(message.content[0].text)`,
      },
      {
        id: 'anthropic-ts',
        label: 'Anthropic SDK, TypeScript',
        code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${base},
  apiKey: ${typescript.key},
});
const message = await client.messages.create({
  model: ${model},
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(message.content);`,
      },
    ];
  },
  Embeddings: (parts) =>
    openaiSnippets(parts, {
      curl: parts.post('/v1/embeddings', '"input": "Hello"'),
      python: `response = client.embeddings.create(model=${parts.model}, input="Hello")
print(response.data[0].embedding)`,
      typescript: `const response = await client.embeddings.create({ model: ${parts.model}, input: "Hello" });
console.log(response.data[0].embedding);`,
    }),
  Images: (parts) =>
    openaiSnippets(parts, {
      curl: parts.post('/v1/images/generations', '"prompt": "A lighthouse at dawn"'),
      python: `response = client.images.generate(model=${parts.model}, prompt="A lighthouse at dawn")
print(response.data[0])`,
      typescript: `const response = await client.images.generate({
  model: ${parts.model},
  prompt: "A lighthouse at dawn",
});
console.log(response.data?.[0]);`,
    }),
  Videos: (parts) => {
    const { model, post, bySecond } = parts;
    const [json, python, typescript] = bySecond
      ? [',\n    "seconds": "4"', ', seconds="4"', ', seconds: "4"']
      : ['', '', ''];
    return openaiSnippets(parts, {
      curl: post('/v1/videos', `"prompt": "A lighthouse at dawn"${json}`),
      python: `video = client.videos.create_and_poll(model=${model}, prompt="A lighthouse at dawn"${python})
client.videos.download_content(video.id).write_to_file("video.mp4")`,
      typescript: `let video = await client.videos.create({ model: ${model}, prompt: "A lighthouse at dawn"${typescript} });
while (video.status === "queued" || video.status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  video = await client.videos.retrieve(video.id);
}
console.log(video.status, video.id);`,
    });
  },
  Speech: (parts) =>
    openaiSnippets(parts, {
      curl: `${parts.post('/v1/audio/speech', '"voice": "alloy",\n    "input": "Hello"')} \\
  --output speech.mp3`,
      python: `client.audio.speech.create(model=${parts.model}, voice="alloy", input="Hello").write_to_file("speech.mp3")`,
      typescript: `const speech = await client.audio.speech.create({ model: ${parts.model}, voice: "alloy", input: "Hello" });
console.log(await speech.arrayBuffer());`,
    }),
  Transcriptions: (parts) =>
    openaiSnippets(parts, {
      curl: parts.postFile('/v1/audio/transcriptions'),
      python: `transcript = client.audio.transcriptions.create(model=${parts.model}, file=open("speech.mp3", "rb"))
print(transcript.text)`,
      typescript: `const { createReadStream } = await import("node:fs");
const transcript = await client.audio.transcriptions.create({
  model: ${parts.model},
  file: createReadStream("speech.mp3"),
});
console.log(transcript.text);`,
    }),
  Realtime: (parts) => [
    {
      id: 'openai-python',
      label: 'OpenAI SDK, Python',
      code: `${openaiPython(parts)}
with client.realtime.connect(model=${parts.model}) as connection:
    connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
    connection.conversation.item.create(
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
    )
    connection.response.create()
    for event in connection:
        if event.type == "response.output_text.delta":
            print(event.delta, end="")
        elif event.type == "response.done":
            break`,
    },
    {
      id: 'openai-ts',
      label: 'OpenAI SDK, TypeScript',
      code: `${openaiTypescript(parts)}
const { OpenAIRealtimeWS } = await import("openai/realtime/ws");
const realtime = await OpenAIRealtimeWS.create(client, { model: ${parts.model} });
realtime.socket.on("open", () => {
  realtime.send({ type: "session.update", session: { type: "realtime", output_modalities: ["text"] } });
  realtime.send({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
  });
  realtime.send({ type: "response.create" });
});
realtime.on("response.output_text.delta", ({ delta }) => process.stdout.write(delta));
realtime.on("response.done", () => realtime.close());`,
    },
  ],
};

function openaiSnippets(
  parts: Parts,
  { curl, python, typescript }: Readonly<Record<'curl' | 'python' | 'typescript', string>>,
): Snippet[] {
  return [
    { id: 'curl', label: 'curl', code: curl },
    { id: 'openai-python', label: 'OpenAI SDK, Python', code: `${openaiPython(parts)}\n${python}` },
    { id: 'openai-ts', label: 'OpenAI SDK, TypeScript', code: `${openaiTypescript(parts)}\n${typescript}` },
  ];
}

function openaiPython({ python, v1 }: Parts): string {
  return `${python.imports}from openai import OpenAI

client = OpenAI(
    base_url=${v1},
    api_key=${python.key},
)`;
}

function openaiTypescript({ typescript, v1 }: Parts): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${v1},
  apiKey: ${typescript.key},
});`;
}

function partsOf({ url, key, model, bySecond = false }: SnippetOptions): Parts {
  const base = url.replace(/\/+$/, '');
  const quoted = JSON.stringify(model);
  const bearer = key === undefined ? '"Authorization: Bearer $MGW_KEY"' : shell(`Authorization: Bearer ${key}`);
  return {
    base: JSON.stringify(base),
    v1: JSON.stringify(`${base}/v1`),
    model: quoted,
    bySecond,
    python:
      key === undefined
        ? { imports: 'import os\n\n', key: 'os.environ["MGW_KEY"]' }
        : { imports: '', key: JSON.stringify(key) },
    typescript: { key: key === undefined ? 'process.env.MGW_KEY' : JSON.stringify(key) },
    post: (path, body) => `curl ${shell(base + path)} \\
  -H ${bearer} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(`{
    "model": ${quoted},
    ${body}
  }`)}`,
    postFile: (path) => `curl ${shell(base + path)} \\
  -H ${bearer} \\
  -F ${shell(`model=${model}`)} \\
  -F 'file=@speech.mp3'`,
  };
}

/** Quotes text as a single word of a shell. */
function shell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
