/** [P] A first call with the key, for what people use: to copy as it stands. */


interface SnippetFacts {
  /** The gateway's address without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/** What stands in for what nobody has told. */
export const EXAMPLE_URL = 'https://gateway.example';
export const EXAMPLE_MODEL = 'MODEL';

/** In the order in which people look for them. */
export function snippetsOf({ url, key, model }: SnippetFacts): Snippet[] {
  const base = url.replace(/\/+$/, '');
  const [q, k, v1, b] =
    [JSON.stringify(model), JSON.stringify(key), JSON.stringify(`${base}/v1`), JSON.stringify(base)];
  return [
    {
      id: 'curl', label: 'curl', code: `curl ${shell(`${base}/v1/chat/completions`)} \\
  -H ${shell(`Authorization: Bearer ${key}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shell(`{
    "model": ${q},
    "messages": [{"role": "user", "content": "Hello"}]
  }`)}`,
    },
    {
      id: 'openai-python', label: 'OpenAI SDK, Python', code: `from openai import OpenAI

client = OpenAI(
    base_url=${v1},
    api_key=${k},
)
completion = client.chat.completions.create(
    model=${q},
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`,
    },
    {
      id: 'openai-js', label: 'OpenAI SDK, JavaScript', code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${v1},
  apiKey: ${k},
});
const completion = await client.chat.completions.create({
  model: ${q},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(completion.choices[0].message.content);`,
    },
    {
      id: 'anthropic-python', label: 'Anthropic SDK, Python', code: `from anthropic import Anthropic

client = Anthropic(
    base_url=${b},
    api_key=${k},
)
message = client.messages.create(
    model=${q},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    },
  ];
}

/** One word to a shell, whatever is in it. */
function shell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
