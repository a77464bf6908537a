/**
 * docs/adding-a-provider.md: how a kind of provider is added, with the example that
 * test/unit/dataplane/protocol/parrot.test.ts runs.
 */
import { readFile } from 'node:fs/promises';

const HEAD = `# Adding a provider

A channel's \`protocol\` names the kind of its provider. A kind is one folder under \`dataplane/protocol/\` and a line
in \`providers.ts\`; nothing else in the gateway asks which kind it has before it. Routing, retries, money, metering,
timeouts and streams to slow clients are the same for all. OpenAI-compatible providers need no folder: they are
channels of \`protocol: OpenAI\` with their own \`baseUrl\`.

## What a kind says of itself

\`dataplane/protocol/provider.ts\` is the interface:

| member | what it is |
|---|---|
| \`chat\` | a converter for clients of each dialect |
| \`embeddings\`, \`images\`, \`responses\` | a converter for OpenAI's endpoint, where the provider has one |
| \`videos\` | a converter for the call that makes one, and how to ask for it afterwards, where the provider has them |
| \`tokenCounter\` | how to have a message's tokens counted, where the provider can; else the gateway estimates |
| \`credential\` | the header that shows a channel's key |
| \`defaultHeaders\` | headers that every call wants, where the client says nothing else |
| \`clientHeaders\` | clients' headers that are passed on besides those of every protocol; all others stay behind |
| \`costFields\` | fields that change the price of a request that passes through, where there are any |
| \`readError\` | a refusal in the provider's words, made fit for a caller's eyes |

A converter (\`converter.ts\`) has three functions, all of them pure: \`request\` writes the provider's body and path
(below the channel's base URL), \`response\` reads a whole answer, and \`stream\` opens a state machine for one stream.

What a converter promises:

- **Nothing is lost silently.** A client's objects are read through tables (\`field-table.ts\`), which say for each
  field whether it is converted, left out because that is harmless, or refused. A field that no table knows is refused
  by name. The tables of the kinds that come with the gateway are what [protocols.md](protocols.md) is made from.
- **Figures are read, never believed.** \`readTokenCount\` takes only those that a call can have. What is not said stays
  undefined: it is estimated, and the usage record says so.
- **A stream ends only as its provider ended it.** \`finish()\` is \`Complete\` after the protocol's own end, \`Failed\`
  after an error in the stream, and \`Cut\` after anything else. The last event is held back until the call is settled.
- **No input throws** anything but \`RequestFault\` (a request that cannot be expressed) and \`SyntaxError\` (an answer
  that is none). \`npm run fuzz -- --only converters\` tries.
- **One conversion is enough.** \`chain.ts\` puts two of them one after the other, so that a kind converts one dialect
  by hand and gets the other through it.

## An example

The Parrot is a provider with a protocol of its own: \`POST /say\` with
\`{"bird","lines":[{"who","what"}],"most","live"}\` answers \`{"said","bird","counts":{"heard","said"}}\`, or a stream
of \`{"word"}\` that ends with \`{"counts"}\`. Its key goes in \`x-parrot-key\`. The files below are
\`test/unit/dataplane/protocol/parrot/\`, with paths as they would be in \`dataplane/protocol/parrot/\`;
\`parrot.test.ts\` beside them runs both official SDKs through a gateway on it.
`;

const TAIL = `## The rest

1. \`provider.ts\`: the kind's name in \`ProviderKind\`; \`providers.ts\`: the line that brings name and folder
   together.
2. The name for users: the \`protocol\` enumeration of channels in \`crds/modelroute.yaml\` (\`npm run generate\` makes
   the types from it), and \`Protocol\` in \`dataplane/snapshot/snapshot.proto\` with its two translations:
   \`operator/translate/\` writes it, \`dataplane/state/compile-routes.ts\` reads it.
3. Recorded streams in \`test/fixtures/<provider>/\`: every converter of the protocol gets them byte by byte, as
   recorded and at once. Requests and answers in \`dataplane/protocol/testdata/\`; \`npm run golden\` writes what comes
   of them, for review.
4. The tables in \`tools/generate/protocols-doc.ts\`, and an example for each of their fields in
   \`test/unit/dataplane/protocol/field-tables.test.ts\`, which holds them to their word.

A cloud that has one of the protocols under another path is no kind but a channel's \`platform\`: \`dressRequest\` in
\`dataplane/protocol/platforms/\` changes path and body of a converted request, and \`dataplane/upstream/\` signs it in
(\`sign-in/\`) and reads AWS's event streams. [Clouds](clouds.md) has what there is. Gemini's own protocol would be a
folder with a conversion of its own.
`;

const FILES = [
  ['provider.ts', 'What it is'],
  ['request.ts', 'What is sent'],
  ['answer.ts', 'What comes back'],
] as const;

/** The page, as it is kept in docs/. `root`: of the repository. */
export async function providerText(root: URL): Promise<string> {
  const shown = await Promise.all(FILES.map(async ([file, title]) => {
    const text = await readFile(new URL(`test/unit/dataplane/protocol/parrot/${file}`, root), 'utf8');
    return `### ${title}: \`parrot/${file}\`\n\n\`\`\`ts\n${text.replaceAll(
      '../../../../dataplane/protocol/', '../',
    )}\`\`\`\n`;
  }));
  return [HEAD, ...shown, TAIL].join('\n');
}
