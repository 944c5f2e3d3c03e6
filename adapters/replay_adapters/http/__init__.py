"""Systems behind HTTP or a WebSocket: any JSON API, Rasa, bots behind the Direct Line protocol."""
