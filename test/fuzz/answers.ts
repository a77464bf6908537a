/** Strictly parses what a server wrote on one connection: complete HTTP responses, and the remaining bytes. */

export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names; the last one of a name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** False: the connection ended within it. */
  readonly whole: boolean;
}

interface ReadAnswers {
  readonly answers: readonly HttpAnswer[];
  /** What is not HTTP about the bytes. */
  readonly fault: string | undefined;
}

/** `bodiless`: the answer with this index has no body, since its request was a HEAD. */
export function readAnswers(bytes: Buffer, bodiless: (index: number) => boolean = () => false): ReadAnswers {
  const answers: HttpAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0)
      return { answers, fault: `an incomplete head: ${JSON.stringify(bytes.toString('latin1', at, at + 200))}` };
    const head = readHead(bytes.toString('latin1', at, end));
    if (typeof head === 'string') return { answers, fault: head };
    at = end + 4;
    if (head.status < 200) continue;
    const body =
      bodiless(answers.length) || head.status === 204 || head.status === 304
        ? { body: Buffer.alloc(0), next: at, whole: true }
        : readBody(bytes, at, head.headers);
    if (typeof body === 'string') return { answers, fault: body };
    answers.push({ ...head, body: body.body, whole: body.whole });
    at = body.next;
  }
  return { answers, fault: undefined };
}

function readHead(text: string): { status: number; headers: Map<string, string> } | string {
  const [first = '', ...lines] = text.split('\r\n');
  const [, status] = /^HTTP\/1\.1 ([1-9]\d\d) [\t\x20-\x7e\x80-\xff]*$/.exec(first) ?? [];
  if (status === undefined) return `not a status line: ${JSON.stringify(first.slice(0, 200))}`;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return `not a header: ${JSON.stringify(line.slice(0, 200))}`;
    const key = name.toLowerCase();
    if (headers.has(key) && ['content-length', 'content-type', 'transfer-encoding'].includes(key))
      return `${key} twice`;
    headers.set(key, value);
  }
  return { status: Number(status), headers };
}

interface Body {
  readonly body: Buffer;
  readonly next: number;
  readonly whole: boolean;
}

function readBody(bytes: Buffer, at: number, headers: ReadonlyMap<string, string>): Body | string {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (length !== undefined && coding !== undefined) return 'content-length beside transfer-encoding';
  if (coding !== undefined) return coding === 'chunked' ? readChunks(bytes, at) : `transfer-encoding ${coding}`;
  if (length === undefined) return { body: bytes.subarray(at), next: bytes.length, whole: true };
  if (!/^\d+$/.test(length)) return `content-length ${length}`;
  const next = at + Number(length);
  return { body: bytes.subarray(at, next), next: Math.min(next, bytes.length), whole: next <= bytes.length };
}

function readChunks(bytes: Buffer, from: number): Body | string {
  const chunks: Buffer[] = [];
  let at = from;
  const cut = (): Body => ({ body: Buffer.concat(chunks), next: bytes.length, whole: false });
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return cut();
    const size = bytes.toString('latin1', at, end);
    if (!/^[0-9a-fA-F]{1,8}$/.test(size)) return `a broken chunk: ${JSON.stringify(size.slice(0, 100))}`;
    const length = Number.parseInt(size, 16);
    const next = end + 2 + length;
    if (next + 2 > bytes.length) {
      chunks.push(bytes.subarray(end + 2, next));
      return cut();
    }
    if (bytes.toString('latin1', next, next + 2) !== '\r\n') return 'a chunk without its end';
    chunks.push(bytes.subarray(end + 2, next));
    at = next + 2;
    if (length === 0) return { body: Buffer.concat(chunks), next: at, whole: true };
  }
}
