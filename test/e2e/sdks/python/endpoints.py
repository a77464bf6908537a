"""Calls every endpoint with the official Python SDKs. Prints one line of JSON for each call."""

import io
import json
import os
import time
import traceback
import wave

import anthropic
import openai
from google import genai

URL, KEY = os.environ["MGW_URL"], os.environ["MGW_KEY"]
PNG = open(os.environ["MGW_PICTURE"], "rb").read()
WAV = open(os.environ["MGW_SPEECH"], "rb").read()
GPT, CLAUDE = "gpt-4o-mini", "claude-sonnet-4-6"
HELLO = "Say hello."

client = openai.OpenAI(api_key=KEY, base_url=f"{URL}/v1")
claude = anthropic.Anthropic(api_key=KEY, base_url=URL)
gemini = genai.Client(api_key=KEY, http_options={"base_url": URL})


def until(read, done):
    for _ in range(200):
        value = read()
        if done(value):
            return value
        time.sleep(0.1)
    raise TimeoutError(value)


def chat():
    made = client.chat.completions.create(model=GPT, max_tokens=500, messages=[{"role": "user", "content": HELLO}])
    assert made.choices[0].message.content and made.usage.total_tokens > 0


def chat_stream():
    stream = client.chat.completions.create(
        model=GPT,
        max_tokens=500,
        messages=[{"role": "user", "content": HELLO}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert chunks[-1].usage.total_tokens > 0


def responses():
    first = client.responses.create(model=GPT, max_output_tokens=500, input=HELLO)
    assert first.output_text and first.status == "completed"


def responses_stream():
    events = client.responses.create(model=GPT, max_output_tokens=500, input=HELLO, stream=True)
    types = [event.type for event in events]
    assert types[0] == "response.created" and types[-1] == "response.completed", types


def responses_continued():
    first = client.responses.create(model=CLAUDE, max_output_tokens=500, input=HELLO)
    second = client.responses.create(model=CLAUDE, max_output_tokens=500, input="Again.", previous_response_id=first.id)
    assert second.output_text and second.previous_response_id == first.id
    assert client.responses.retrieve(first.id).output_text == first.output_text
    client.responses.delete(first.id)
    client.responses.delete(second.id)


def conversations():
    made = client.conversations.create(metadata={"topic": "greetings"})
    said = client.responses.create(model=CLAUDE, max_output_tokens=500, input=HELLO, conversation=made.id)
    assert said.output_text
    assert [item.role for item in client.conversations.items.list(made.id, order="asc")] == ["user", "assistant"]
    assert client.conversations.delete(made.id).deleted


def completions():
    assert client.completions.create(model=GPT, max_tokens=500, prompt=HELLO).choices[0].text


def embeddings():
    made = client.embeddings.create(model="text-embedding-3-small", input=["one", "two"])
    assert len(made.data) == 2 and len(made.data[0].embedding) > 0


def moderations():
    assert len(client.moderations.create(model="omni-moderation-latest", input=HELLO).results) == 1


def images():
    assert len(client.images.generate(model="gpt-image-1", prompt="a cat").data) == 1


def images_stream():
    events = client.images.generate(model="gpt-image-1", prompt="a cat", stream=True, partial_images=1)
    types = [event.type for event in events]
    assert types == ["image_generation.partial_image", "image_generation.completed"], types


def image_variations():
    picture = ("cat.png", io.BytesIO(PNG), "image/png")
    assert len(client.images.create_variation(model="gpt-image-1", image=picture).data) == 1


def image_edits():
    picture = ("cat.png", io.BytesIO(PNG), "image/png")
    assert len(client.images.edit(model="gpt-image-1", image=[picture], prompt="a hat").data) == 1


def speech():
    sound = client.audio.speech.create(model="tts-1", voice="alloy", input=HELLO, response_format="wav").read()
    assert sound[:4] == b"RIFF"


def transcriptions():
    made = client.audio.transcriptions.create(model="whisper-1", file=("speech.wav", io.BytesIO(WAV), "audio/wav"))
    assert made.text


def translations():
    made = client.audio.translations.create(model="whisper-1", file=("speech.wav", io.BytesIO(WAV), "audio/wav"))
    assert made.text


def videos():
    made = client.videos.create(model="sora-2", prompt="a cat", seconds="4")
    until(lambda: client.videos.retrieve(made.id), lambda video: video.status == "completed")
    assert client.videos.download_content(made.id).read()


def batches():
    line = {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": GPT, "max_tokens": 500, "messages": [{"role": "user", "content": HELLO}]},
    }
    file = client.files.create(file=("batch.jsonl", json.dumps(line).encode()), purpose="batch")
    made = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    ended = until(lambda: client.batches.retrieve(made.id), lambda batch: batch.status == "completed")
    result = json.loads(client.files.content(ended.output_file_id).text.splitlines()[0])
    assert result["custom_id"] == "a" and result["response"]["status_code"] == 200
    assert client.files.delete(file.id).deleted


def realtime():
    with client.realtime.connect(model="gpt-realtime") as session:
        session.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        content = [{"type": "input_text", "text": HELLO}]
        session.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        session.response.create()
        for event in session:
            assert event.type != "error", event
            if event.type == "response.done":
                break
        assert event.response.status == "completed" and event.response.usage.total_tokens > 0


def models():
    assert GPT in [model.id for model in client.models.list()]


def messages():
    made = claude.messages.create(model=CLAUDE, max_tokens=500, messages=[{"role": "user", "content": HELLO}])
    assert made.content[0].text and made.usage.output_tokens > 0


def messages_stream():
    with claude.messages.stream(
        model=CLAUDE, max_tokens=500, messages=[{"role": "user", "content": HELLO}]
    ) as stream:
        assert "".join(stream.text_stream)


def count_tokens():
    counted = claude.messages.count_tokens(model=CLAUDE, messages=[{"role": "user", "content": HELLO}])
    assert counted.input_tokens > 0


def message_batches():
    params = {"model": CLAUDE, "max_tokens": 500, "messages": [{"role": "user", "content": HELLO}]}
    made = claude.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
    until(lambda: claude.messages.batches.retrieve(made.id), lambda batch: batch.processing_status == "ended")
    results = list(claude.messages.batches.results(made.id))
    assert [each.result.type for each in results] == ["succeeded"]


def generate_content():
    made = gemini.models.generate_content(model=GPT, contents=HELLO, config={"max_output_tokens": 500})
    assert made.text and made.usage_metadata.total_token_count > 0


def generate_content_stream():
    stream = gemini.models.generate_content_stream(model=CLAUDE, contents=HELLO, config={"max_output_tokens": 500})
    assert "".join(chunk.text or "" for chunk in stream)


def embed_content():
    made = gemini.models.embed_content(model="text-embedding-3-small", contents=["one", "two"])
    assert len(made.embeddings) == 2


CALLS = {
    "models": models,
    "chat": chat,
    "chat stream": chat_stream,
    "responses": responses,
    "responses stream": responses_stream,
    "responses continued": responses_continued,
    "conversations": conversations,
    "completions": completions,
    "embeddings": embeddings,
    "moderations": moderations,
    "images": images,
    "images stream": images_stream,
    "image edits": image_edits,
    "image variations": image_variations,
    "speech": speech,
    "transcriptions": transcriptions,
    "translations": translations,
    "videos": videos,
    "batches": batches,
    "messages": messages,
    "messages stream": messages_stream,
    "count tokens": count_tokens,
    "message batches": message_batches,
    "generateContent": generate_content,
    "generateContent stream": generate_content_stream,
    "embedContent": embed_content,
    "realtime": realtime,
}

for name, call in CALLS.items():
    try:
        call()
        print(json.dumps({"call": name}), flush=True)
    except Exception:
        print(json.dumps({"call": name, "error": traceback.format_exc()[-1500:]}), flush=True)
