/**
 * [P] Splits a YAML stream into its documents' texts. A line that begins with `---` ends a document anywhere, even
 * within a block scalar (YAML 1.2.2, 9.1.2). So no parsing is needed, and unchanged documents need not be parsed again.
 */

/** One document's text and the line of the stream, from 0, at which it begins. */
interface DocumentText {
  readonly text: string;
  readonly firstLine: number;
}

const SEPARATOR = '---';
const BEGINNING = /^---(?=\s|$)/gm;

/** The documents of a stream, in order; joined, they are the stream. */
export function splitDocuments(stream: string): DocumentText[] {
  const starts = [0];
  BEGINNING.lastIndex = 1;
  while (BEGINNING.test(stream)) starts.push(BEGINNING.lastIndex - SEPARATOR.length);
  let firstLine = 0;
  return starts.map((start, position) => {
    const document = { text: stream.slice(start, starts[position + 1]), firstLine };
    firstLine += countLines(document.text);
    return document;
  });
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
